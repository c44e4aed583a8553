import Cipher
import Core
import Synchronization

/// The authenticated message channel between members, over NATS. Messages without a valid ``MemberSeal`` code are
/// ignored.
struct MemberLine: Sendable {
    let client: NATSClient
    let seal: MemberSeal

    init(_ client: NATSClient, _ seal: MemberSeal) { (self.client, self.seal) = (client, seal) }

    /// Publishes to all subscribers of the subject. There is no confirmation.
    func publish(_ subject: String, _ content: [UInt8]) throws(NATSError) {
        try client.publish(subject, seal.seal(content, for: subject))
    }

    /// Passes members' messages on a subject to `heard`, with the reply subject. Retain the result to stay subscribed.
    func subscribe(
        _ subject: String,
        _ heard: @escaping @Sendable (_ content: [UInt8], _ replyTo: String?) -> Void
    ) throws(NATSError) -> NATSClient.Subscription {
        try client.subscribe(subject) { [seal] message in
            guard let content = seal.open(message.payload, of: subject) else { return }
            heard(content, message.replyTo)
        }
    }

    /// Sends a request. Calls `completion` once, with a member's response or an error.
    func request(
        _ subject: String,
        _ content: [UInt8],
        within span: Duration,
        then completion: @escaping @Sendable (Result<[UInt8], NATSError>) -> Void
    ) {
        client.request(subject, seal.seal(content, for: subject), within: span) { [seal] result in
            completion(
                result.flatMap { message in
                    // The subject is this request's own inbox.
                    seal.open(message.payload, of: message.subject).map { .success($0) } ?? .failure(.badAnswer)
                }
            )
        }
    }
}

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
