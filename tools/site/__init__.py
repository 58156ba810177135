"""The site: all pages of docs/, the conformance table and the explorer as one folder of HTML that asks for nothing outside."""
