/// A BIP-340 signature: 64 bytes.
package struct Signature: Hashable, Sendable {
    package var first: Bytes32
    package var second: Bytes32

    package init(first: Bytes32, second: Bytes32) {
        self.first = first
        self.second = second
    }
}
