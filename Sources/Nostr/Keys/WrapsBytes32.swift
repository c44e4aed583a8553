/// A type that gives 32 bytes a meaning, and shares their forms.
package protocol WrapsBytes32: Comparable {
    init(_ bytes: Bytes32)
    var bytes: Bytes32 { get }
}

extension WrapsBytes32 {
    /// Reads 64 lowercase digits, the only spelling NIP-01 allows.
    package init?(hex: some StringProtocol) {
        guard let bytes = Bytes32(hex: hex) else {
            return nil
        }
        self.init(bytes)
    }

    /// Takes exactly 32 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard let bytes = Bytes32(bytes: bytes) else {
            return nil
        }
        self.init(bytes)
    }

    /// The bytes as 64 lowercase digits.
    package var hex: String {
        self.bytes.hex
    }

    /// The bytes in an array of their own.
    package var array: [UInt8] {
        self.bytes.array
    }

    /// The order of the hexadecimal texts.
    package static func < (left: Self, right: Self) -> Bool {
        left.bytes < right.bytes
    }
}

extension EventID: WrapsBytes32 {}

extension PublicKey: WrapsBytes32 {}
