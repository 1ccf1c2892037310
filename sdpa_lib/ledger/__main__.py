"""``python -m sdpa_lib.ledger`` checks every claim and writes the ledger as CSV to standard output."""

import sys

from sdpa_lib.ledger import check_claims

sys.stdout.write(check_claims().csv())
