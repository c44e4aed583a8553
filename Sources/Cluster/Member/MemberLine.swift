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
