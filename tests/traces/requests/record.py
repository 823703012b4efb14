"""Records what requests adds to urllib3: its adapter's defaults, over a scripted connection pool."""

import io
import time

SLEPT = []
time.sleep = SLEPT.append

import requests  # noqa: E402
from requests.adapters import HTTPAdapter  # noqa: E402
from urllib3.connectionpool import HTTPConnectionPool  # noqa: E402
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ProtocolError, ReadTimeoutError  # noqa: E402
from urllib3.response import HTTPResponse  # noqa: E402

from tracing import write  # noqa: E402

SENT = []
SCRIPT = []


def make_request(pool, _conn, _method, url, **_kwargs):
    outcome = SCRIPT[min(len(SENT), len(SCRIPT) - 1)]
    SENT.append(outcome)
    word, _, header = outcome.partition(' retry-after=')
    errors = {'connect_timeout': ConnectTimeoutError(), 'refused': NewConnectionError(None, 'refused'),
              'read_timeout': ReadTimeoutError(pool, url, ''), 'broken': ProtocolError('Connection aborted.')}
    if word in errors:
        raise errors[word]
    return HTTPResponse(status=int(word), headers={'Retry-After': header} if header else {}, body=io.BytesIO(b''), preload_content=False)


HTTPConnectionPool._make_request = make_request
cases = []
for retries in (None, 0, 3):
    for method in ('GET', 'POST'):
        for answer in ('503', '503 retry-after=2', '429', 'refused', 'connect_timeout', 'read_timeout', 'broken'):
            session = requests.Session()
            if retries is not None:
                session.mount('http://', HTTPAdapter(max_retries=retries))
            SENT.clear()
            SLEPT.clear()
            SCRIPT[:] = [answer]
            try:
                result = str(session.request(method, 'http://localhost:1/').status_code)
            except requests.RequestException as error:
                result = type(error).__name__
            cases.append({'max_retries': 'default' if retries is None else retries, 'method': method, 'answer': answer,
                          'attempts_made': len(SENT), 'waits_s': list(SLEPT), 'result': result})
write('calls.json', {'library': 'requests', 'version': requests.__version__, 'records': 'attempts of one call whose every attempt is answered alike',
                     'fields': {'max_retries': 'argument of HTTPAdapter', 'answer': 'as in the traces of urllib3', 'waits_s': 'every time.sleep, in s',
                                'result': 'status, or the error that came out'}}, cases)
