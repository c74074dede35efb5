"""What the controller saw, decided and did, for whoever asks afterwards."""
