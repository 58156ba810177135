"""dot: the result of a datapath on two rows of codes; its stages, and the rows that tell datapaths apart."""
