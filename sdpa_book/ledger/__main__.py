"""``python -m sdpa_book.ledger`` checks every claim and writes the ledger as CSV to standard
output; ``python -m sdpa_book.ledger S1-07`` checks the claims that it names.
"""

import sys

from sdpa_book.ledger import check_claims, load_claims

claims = {claim.id: claim for claim in load_claims()}
named = sys.argv[1:] or claims
if unknown := set(named) - set(claims):
    sys.exit(f"a claim must be one of claims.toml, got {', '.join(sorted(unknown))}")
sys.stdout.write(check_claims([claims[name] for name in named]).csv())
