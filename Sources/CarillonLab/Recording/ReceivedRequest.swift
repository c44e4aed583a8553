/// One request that reached a push service of the lab, with the answer it got.
///
/// It is recorded at the moment the answer is decided, before the answer is sent: requests that are never answered,
/// or much later, are recorded as well.
public struct ReceivedRequest: Sendable, Hashable {
    /// Counts from 1 over all services, in the order in which requests were decided.
    public internal(set) var sequence = 0
    /// Who decided about it: on FCM's connections also `oauth`, for requests to the token endpoint.
    public var service: LabService
    /// Milliseconds since 1970.
    public var receivedAt: Int64
    /// Counts the connections of the lab from 1; two requests with the same number came over the same connection.
    public var connection: Int
    /// As the client wrote it, also where the service refuses the method.
    public var method: String
    /// As the client wrote it, with its query.
    public var path: String
    /// The device token (in lower case) or the topic; empty where the path named none.
    public var target: String
    /// The status answered; nil for a request that gets no answer.
    public var status: Int?
    /// The reason given beside a status that is not a success, in the service's own words.
    public var reason: String?
    /// What exactly was wrong, in a sentence for people. Real services do not say it.
    public var detail: String?
    /// The misbehaviour that replaced the answer this request had earned.
    public var misbehaviour: Misbehaviour.Conduct?
    /// In the order in which they came, without HTTP/2's pseudo headers and without trailers.
    public var headers: [LabHeader]
    /// As it came, still encrypted where it was; cut at 32,768 bytes over HTTP/2 and at 1 MiB over HTTP/1.1.
    public var body: [UInt8]
    /// The clear text of a Web Push message whose receiver's keys the lab knows.
    public var decrypted: [UInt8]?

    /// What ntfy or Gotify make of it and show to their subscribers.
    public var message: JSONValue?
    /// How many requests with the same `apns-id` came before it.
    public var repeats = 0

    /// Makes a record up, for tests of what reads records: its `sequence` stays 0, since only a lab counts.
    public init(
        service: LabService,
        receivedAt: Int64,
        connection: Int,
        method: String,
        path: String,
        target: String,
        status: Int?,
        reason: String? = nil,
        detail: String? = nil,
        misbehaviour: Misbehaviour.Conduct? = nil,
        headers: [LabHeader],
        body: [UInt8],
        decrypted: [UInt8]? = nil
    ) {
        self.service = service
        self.receivedAt = receivedAt
        self.connection = connection
        self.method = method
        self.path = path
        self.target = target
        self.status = status
        self.reason = reason
        self.detail = detail
        self.misbehaviour = misbehaviour
        self.headers = headers
        self.body = body
        self.decrypted = decrypted
    }

    /// True for a request answered with a status from 200 to 299.
    public var isAccepted: Bool {
        guard let status else { return false }
        return (200..<300).contains(status)
    }

    /// True where the service has the push, whatever its client heard of it: a device would show it.
    public var isTaken: Bool {
        guard let misbehaviour else { return isAccepted }
        return misbehaviour.sendsNoAnswer ? !misbehaviour.disownsRequest : isAccepted
    }

    /// The body, or its clear text where it was decrypted, read as JSON; nil where it is not JSON.
    public var payload: JSONValue? {
        JSONValue(parsing: decrypted ?? body)
    }

    /// The value of the first header of this name.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name.lowercased() }?.value
    }

    /// Roughly what keeping this request costs, in bytes.
    var footprint: Int {
        256 + body.count + (decrypted?.count ?? 0) + headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }
}
