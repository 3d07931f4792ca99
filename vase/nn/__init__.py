"""Networks: encoder, decoder, environment classifier, likelihoods."""
