/// What a client may ask of this router (NIP-46; `register` is ours). It signs and encrypts nothing for anybody.
enum RemoteMethod: String, CaseIterable {
    case connect
    case ping
    case publicKey = "get_public_key"
    case register
    case switchRelays = "switch_relays"
    case logout

    /// For the answer to any other method.
    static let unknown = "unknown method: this router knows \(allCases.map(\.rawValue).joined(separator: ", "))"
}
