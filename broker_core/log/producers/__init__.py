"""The state that a log keeps of its idempotent and transactional producers (`ProducerStateManager`)."""
