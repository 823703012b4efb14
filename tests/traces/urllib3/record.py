"""Records urllib3: a real connection pool whose answers are scripted before they are sent."""

import random
import time

from tracing import ALMOST_ONE, Script, mulberry32, write

SCRIPT = Script()
SLEPT = []
NOW = 1_700_000_000.0  # A Tuesday, 22:13:20 GMT; what time.time() says.
random.random = SCRIPT
time.sleep = SLEPT.append
time.time = lambda: NOW

import urllib3  # noqa: E402
from urllib3.connectionpool import HTTPConnectionPool  # noqa: E402
from urllib3.exceptions import (  # noqa: E402
    ConnectTimeoutError,
    MaxRetryError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    ResponseError,
)
from urllib3.response import HTTPResponse  # noqa: E402
from urllib3.util.retry import Retry  # noqa: E402

HEAD = {'library': 'urllib3', 'version': urllib3.__version__}


class Pool(HTTPConnectionPool):
    """Answers from a script; the last answer repeats."""

    script = ()
    sent = None

    def _make_request(self, _conn, method, url, **_kwargs):
        outcome = self.script[min(len(self.sent), len(self.script) - 1)]
        self.sent.append(outcome)
        word, _, header = outcome.partition(' retry-after=')
        if word == 'connect_timeout':
            raise ConnectTimeoutError()
        if word == 'refused':
            raise NewConnectionError(None, 'refused')
        if word == 'read_timeout':
            raise ReadTimeoutError(self, url, '')
        if word == 'broken':
            raise ProtocolError('Connection aborted.')
        headers = {'Retry-After': header} if header else {}
        if word == '302':
            headers['Location'] = '/'
        return HTTPResponse(status=int(word), headers=headers, body=b'')


def call(retry, script, method='GET'):
    pool = Pool('localhost', 1)
    pool.script, pool.sent = script, []
    SLEPT.clear()
    SCRIPT.take()
    try:
        result = str(pool.urlopen(method, '/', retries=retry).status)
    except MaxRetryError as error:
        result = 'MaxRetryError: ' + type(error.reason).__name__
    except Exception as error:  # noqa: BLE001
        result = type(error).__name__
    return {'outcomes': pool.sent, 'waits_s': list(SLEPT), 'uniforms': SCRIPT.take(), 'result': result}


FIELDS = {'retry': 'arguments of Retry', 'outcomes': 'how each attempt was answered: a status, or refused, connect_timeout, read_timeout, broken (connection aborted); '
          'retry-after=X is the header', 'waits_s': 'every time.sleep, in s: a wait of 0 is no sleep at all, so this list can be shorter than the retries',
          'uniforms': 'what random.random() gave', 'result': 'status, or the error that came out'}

backoffs = []
for settings in ({'backoff_factor': 0}, {'backoff_factor': 0.5}, {'backoff_factor': 0.1}, {'backoff_factor': 1, 'backoff_max': 10},
                 {'backoff_factor': 0.5, 'backoff_jitter': 0.5}, {'backoff_factor': 1, 'backoff_jitter': 3, 'backoff_max': 20},
                 {'backoff_factor': 0, 'backoff_jitter': 2}):
    for name, draw in (('half', lambda: 0.5), ('almost_one', lambda: ALMOST_ONE), ('seed_1', mulberry32(1))):
        if 'backoff_jitter' not in settings and name != 'half':
            continue
        SCRIPT.draw = draw
        retry = Retry(total=40, **settings)
        delays = []
        SCRIPT.take()
        for _ in range(30):
            retry = retry.increment('GET', '/', error=ConnectTimeoutError())
            delays.append(retry.get_backoff_time())
        backoffs.append({'retry': settings, 'script': name, 'delays_s': delays, 'uniforms': SCRIPT.take()})
far = []
for settings in ({'backoff_factor': 0.5}, {'backoff_factor': 0}, {'backoff_factor': 1}):
    retry = Retry(total=3000, **settings)
    at, values = [], []
    for number in range(1, 2001):
        retry = retry.increment('GET', '/', error=ConnectTimeoutError())
        if number in (1, 2, 10, 32, 64, 100, 500, 1000, 1023, 1024, 1025, 1026, 2000):
            at.append(number)
            try:
                values.append(retry.get_backoff_time())
            except OverflowError as error:
                values.append(f'OverflowError: {error}')
    far.append({'retry': settings, 'retries': at, 'delays_s': values})
write('backoff.json', {**HEAD, 'records': 'get_backoff_time() after 1, 2, … consecutive errors',
                       'fields': {'retry': 'arguments of Retry', 'delays_s': 'in s; entry k−1 after k errors, that is before retry k', 'uniforms': 'what random.random() gave'}}, backoffs)
write('backoff-far.json', {**HEAD, 'records': 'get_backoff_time() after very many errors',
                           'fields': {'retries': 'number of consecutive errors', 'delays_s': 'in s, or the error raised'}}, far)

hints = []
SCRIPT.draw = lambda: 0.5
DATE = 'Tue, 14 Nov 2023 22:13:{:02} GMT'
for text in ('0', '1', '120', ' 7 ', '21600', '21601', '86400', '999999999999', '-1', '1.5', 'soon', DATE.format(50), DATE.format(20), DATE.format(10),
             'Wed, 15 Nov 2023 22:13:20 GMT'):
    for status in ('413', '429', '503', '500', '200'):
        if status not in ('503', '429') and text != '120':
            continue
        hints.append({'retry': {'total': 2, 'backoff_factor': 0.5}, 'answer': f'{status} retry-after={text}',
                      **call(Retry(total=2, backoff_factor=0.5), [f'{status} retry-after={text}'])})
    hints.append({'retry': {'total': 3, 'backoff_factor': 0.5, 'status_forcelist': [503]}, 'answer': f'503 retry-after={text}',
                  **call(Retry(total=3, backoff_factor=0.5, status_forcelist=[503]), [f'503 retry-after={text}'])})
for extra in ({'respect_retry_after_header': False}, {'retry_after_max': 60}):
    settings = {'total': 2, 'backoff_factor': 0.5, 'status_forcelist': [503], **extra}
    hints.append({'retry': settings, 'answer': '503 retry-after=120', **call(Retry(**settings), ['503 retry-after=120'])})
settings = {'total': 5, 'backoff_factor': 0.5, 'status_forcelist': [503]}
hints.append({'retry': settings, 'answer': 'mixed', **call(Retry(**settings), ['503', '503 retry-after=9', '503', '503 retry-after=0', '503'])})
write('retry-after.json', {**HEAD, 'records': 'calls that are answered with a Retry-After; now is Tue, 14 Nov 2023 22:13:20 GMT', 'fields': FIELDS}, hints)

calls = []
for settings in ({}, {'total': 3, 'status_forcelist': [500, 503]}, {'total': 3, 'status_forcelist': [500, 503], 'allowed_methods': None},
                 {'total': 5, 'connect': 2, 'read': 1, 'status': 3, 'status_forcelist': [503]}, {'total': 3, 'status_forcelist': [503], 'raise_on_status': False},
                 {'total': 0, 'status_forcelist': [503]}, {'total': 3, 'backoff_factor': 1, 'status_forcelist': [503]}):
    for method in ('GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'POST', 'PATCH'):
        for script in (['503'], ['503 retry-after=1'], ['refused'], ['connect_timeout'], ['read_timeout'], ['broken'], ['404']):
            if method in ('HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH') and script[0] not in ('503', 'read_timeout', 'refused'):
                continue
            if method not in ('GET', 'POST') and settings not in ({}, {'total': 3, 'status_forcelist': [500, 503]}):
                continue
            row = call(Retry(**settings), script, method)
            calls.append({'retry': settings, 'method': method, 'answer': script[0], 'attempts_made': len(row['outcomes']), 'waits_s': row['waits_s'], 'result': row['result']})
settings = {'total': 10, 'backoff_factor': 0.5, 'status_forcelist': [503]}
for script in (['503', '503', '302', '503', '503', '200'], ['refused', '503', 'read_timeout', '200'], ['503', '200']):
    calls.append({'retry': settings, 'method': 'GET', 'answer': ','.join(script), **call(Retry(**settings), script)})
write('calls.json', {**HEAD, 'records': 'attempts and waits of one call', 'fields': {**FIELDS, 'answer': 'how every attempt is answered'}}, calls)
