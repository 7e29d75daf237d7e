"""HTML pages that need nothing else: a study's, and the one of a reproduction."""
