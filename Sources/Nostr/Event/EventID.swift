/// The SHA-256 of an event's canonical form (NIP-01).
package struct EventID: Hashable, Sendable {
    package let bytes: Bytes32

    package init(_ bytes: Bytes32) {
        self.bytes = bytes
    }
}
