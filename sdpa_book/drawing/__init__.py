"""How figures are drawn, stored and shown, and what they say of themselves in words."""
