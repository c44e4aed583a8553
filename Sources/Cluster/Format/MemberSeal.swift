import Cipher
import Synchronization
import Units

/// Why a message is passed over.
package struct ForeignMessageError: Error, CustomStringConvertible {
    package init() {}

    package var description: String { "it was not made with the router's key: let nobody else write to these subjects" }
}

/// Tells what members of a cluster wrote from what others did: each message ends with an HMAC-SHA-256 over its subject
/// and its bytes. Messages without a valid one are passed over and counted.
package final class MemberSeal: Sendable {
    /// Bytes that a message takes beyond its content.
    package static let size = HMACSHA256.byteCount

    private let authenticator: HMACSHA256Authenticator
    private let now: @Sendable () -> Timestamp
    private let passed: @Sendable () -> Void
    private let last = Mutex<Timestamp?>(nil)
    private let count = Atomic<Int>(0)

    /// `secret` is what all members have and nobody else: the router's secret key. `passed` is called for each message
    /// that no member wrote.
    package init(
        secret: [UInt8],
        passed: @escaping @Sendable () -> Void = {},
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        let key = HKDFSHA256.extract(salt: Array("carillon cluster messages".utf8), inputKeyMaterial: secret)
        authenticator = HMACSHA256Authenticator(key: key)
        (self.now, self.passed) = (now, passed)
    }

    /// Messages that were passed over, since the start.
    package var passedOver: Int { count.load(ordering: .relaxed) }

    /// When the last of them came.
    package var lastPassedOver: Timestamp? { last.withLock(\.self) }

    package func seal(_ content: [UInt8], for subject: String) -> [UInt8] { content + code(of: content, subject) }

    /// The content of what ``seal(_:for:)`` made; nil, and counted, for anything else.
    package func open(_ bytes: [UInt8], of subject: String) -> [UInt8]? {
        let content = Array(bytes.dropLast(Self.size))
        guard bytes.count >= Self.size,
            ConstantTime.areEqual(code(of: content, subject), Array(bytes.suffix(Self.size)))
        else {
            count.add(1, ordering: .relaxed)
            last.withLock { $0 = now() }
            passed()
            return nil
        }
        return content
    }

    private func code(of content: [UInt8], _ subject: String) -> [UInt8] {
        // No subject has a zero byte.
        let message = Array(subject.utf8) + [0] + content
        return [UInt8](unsafeUninitializedCapacity: Self.size) { buffer, initialized in
            message.withUnsafeBytes { authenticator.authenticate($0, into: UnsafeMutableRawBufferPointer(buffer)) }
            initialized = Self.size
        }
    }
}
