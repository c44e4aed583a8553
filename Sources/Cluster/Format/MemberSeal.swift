import Cipher
import Core
import Synchronization

/// The error for a message that no member authenticated.
struct ForeignMessageError: Error, CustomStringConvertible {
    init() {}

    var description: String { "it was not made with the router's key: let only members write to these subjects" }
}

/// Authenticates messages between members of a cluster: each ends with an HMAC-SHA-256 over its subject and its bytes.
/// Messages without a valid one are ignored and counted.
final class MemberSeal: Sendable {
    /// The size of the authentication code, in bytes.
    static let size = HMACSHA256.byteCount

    private let authenticator: HMACSHA256Authenticator
    private let passed: @Sendable () -> Void
    private let last = Mutex<Timestamp?>(nil)
    private let count = Atomic<Int>(0)

    /// `secret` is the router's secret key, which only members have. `passed` is called for each rejected message.
    init(secret: [UInt8], passed: @escaping @Sendable () -> Void = {}) {
        let key = HKDFSHA256.extract(salt: Array("carillon cluster messages".utf8), inputKeyMaterial: secret)
        authenticator = HMACSHA256Authenticator(key: key)
        self.passed = passed
    }

    /// The number of rejected messages since the start.
    var passedOver: Int { count.load(ordering: .relaxed) }

    /// The time of the last rejected message.
    var lastPassedOver: Timestamp? { last.withLock(\.self) }

    func seal(_ content: [UInt8], for subject: String) -> [UInt8] { content + code(of: content, subject) }

    /// Verifies a message that ``seal(_:for:)`` made, and returns its content. Counts any other as rejected and returns
    /// nil.
    func open(_ bytes: [UInt8], of subject: String) -> [UInt8]? {
        let content = Array(bytes.dropLast(Self.size))
        guard bytes.count >= Self.size,
            ConstantTime.areEqual(code(of: content, subject), Array(bytes.suffix(Self.size)))
        else {
            count.add(1, ordering: .relaxed)
            last.withLock { $0 = .now() }
            passed()
            return nil
        }
        return content
    }

    /// The key of the cluster's ``Partitioning``, 16 bytes that only members can compute.
    var partitioningKey: [UInt8] {
        // Cannot equal a message's code, because no message has an empty subject.
        Array(code(of: Array("partitions".utf8), "").prefix(16))
    }

    private func code(of content: [UInt8], _ subject: String) -> [UInt8] {
        // The zero byte separates the two unambiguously, because no subject contains one.
        let message = Array(subject.utf8) + [0] + content
        return [UInt8](unsafeUninitializedCapacity: Self.size) { buffer, initialized in
            message.withUnsafeBytes { authenticator.authenticate($0, into: UnsafeMutableRawBufferPointer(buffer)) }
            initialized = Self.size
        }
    }
}
