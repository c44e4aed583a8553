extension Event {
    /// Throws ``EventError/wrongID`` or ``EventError/wrongSignature`` unless this is what its author signed (NIP-01).
    ///
    /// For events that come one by one; ``EventVerifier`` is faster for many.
    package func verify() throws(EventError) {
        switch EventVerifier().verify(self) {
        case .valid: return
        case .wrongID: throw .wrongID
        case .wrongSignature: throw .wrongSignature
        }
    }
}
