"""``python -m sdpa_book.ledger`` checks every claim and writes the ledger as CSV to standard
output.
"""

import sys

from sdpa_book.ledger import check_claims

sys.stdout.write(check_claims().csv())
