/// Why a NATS operation failed, or may have failed. Contains no subject, key or content.
enum NATSError: Error, Hashable, CustomStringConvertible {
    /// There is no connection now. Nothing was sent.
    case disconnected
    /// The connection was lost before the response: the request may have been carried out.
    case lost
    /// No response came in time: the request may have been carried out.
    case late
    /// The subject has no subscribers.
    case noResponders
    /// The client was closed.
    case closed
    case invalidSubject
    case invalidHeader(String)
    /// The payload exceeds the server's limit.
    case tooLong(Int, limit: Int)
    /// The server broke the protocol.
    case protocolViolation(String)
    /// JetStream refused, with its code and message.
    case refused(code: Int, String)
    case badAnswer

    var description: String {
        switch self {
        case .disconnected: "there is no connection to NATS"
        case .lost: "the connection to NATS was lost before the answer"
        case .late: "NATS did not answer in time"
        case .noResponders: "the subject has no subscriber"
        case .closed: "the client of NATS is closed"
        case .invalidSubject: "the subject has an empty part, a space or a wildcard"
        case .invalidHeader(let name): "the header \(name) does not fit into a line"
        case .tooLong(let count, let limit): "\(count) bytes are more than the \(limit) that NATS takes"
        case .protocolViolation(let what): "NATS sent \(what)"
        case .refused(let code, let words): "NATS refused: \(words) (\(code))"
        case .badAnswer: "NATS sent an answer that is not understood"
        }
    }
}
