"""What makes, compares and grades the course's notebooks."""

import sys

# jsonschema, which nbformat loads, compiles a grammar of URIs when this package is there: 2 s at each start, and no
# notebook has a URI to validate. None makes its import fail, which jsonschema provides for.
sys.modules.setdefault("rfc3987_syntax", None)
