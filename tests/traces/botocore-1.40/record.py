"""Records botocore; what it does is in common/botocore_traces.py."""

import botocore_traces

botocore_traces.record()
