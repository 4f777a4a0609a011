"""The validation of batches before an append (`LogValidator`) and the result of the append (`LogAppendInfo`)."""
