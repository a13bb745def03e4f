"""What encoder passes reach on this machine, beside what its matrix product reaches.

    texts.py      the texts that are read
    shape.py      a network of BERT's shape, for a machine without its weights
    matmul.py     how fast a plain matrix product is
    passes.py     how fast the encoder is, end to end and in its forward passes alone
"""
