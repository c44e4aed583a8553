/// Who may open NIP-46 sessions with this router, and where it listens for them.
package struct RemoteSigningConfiguration: Sendable {
    /// Whether a registration that comes as a plain event must be from somebody with a session.
    package var requireSession: Bool
    /// The file with the secrets that open a session, one a line; nil: no secret is asked for.
    package var secretFile: String?
    /// Relays on which we answer, our own socket among them: what `switch_relays` names.
    package var relays: [String]

    package init(requireSession: Bool = false, secretFile: String? = nil, relays: [String] = []) {
        self.requireSession = requireSession
        self.secretFile = secretFile
        self.relays = relays
    }
}
