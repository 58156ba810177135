"""Why a bit is what it is: one dot product stage by stage, two datapaths compared, rows that tell the facts of a machine."""
