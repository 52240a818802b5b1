"""Typed client of Reprise: `reprise_client.memory` for a user's own memory, `reprise_client.knowledge` for what a team
has published. Generated from the programs' own descriptions."""
