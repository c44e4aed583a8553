import CarillonLab

/// A request as the lab recorded it.
package struct Arrival: Sendable {
    /// The lab's result for the request.
    package enum DeliveryResult: Sendable, Equatable {
        /// Answered with 200 to 299, or meant to be.
        case accepted(status: Int)
        /// Answered with anything else.
        case refused(status: Int)
        /// Not processed, and the client knows it: REFUSED_STREAM, or beyond the last stream of a GOAWAY.
        case unprocessed
        /// No response: the request may have been processed.
        case unanswered
    }

    package var transport: ChaosTransport
    package var target: String
    /// Our number for it; nil if it had none.
    package var sending: Int?
    package var fate: DeliveryResult
    /// The misbehavior that the lab was told to use.
    package var behavior: ScriptedBehavior.Action?
    /// APNs' `apns-id`.
    package var messageID: String?
    /// Every text in the message, as the device reads it; nil if the message is unreadable.
    package var texts: Set<String>?
    /// The lab's complaint about it.
    package var complaint: String?

    package init(
        transport: ChaosTransport,
        target: String,
        sending: Int?,
        fate: DeliveryResult,
        behavior: ScriptedBehavior.Action? = nil,
        messageID: String? = nil,
        texts: Set<String>? = nil,
        complaint: String? = nil
    ) {
        self.transport = transport
        self.target = target
        self.sending = sending
        self.fate = fate
        self.behavior = behavior
        self.messageID = messageID
        self.texts = texts
        self.complaint = complaint
    }

    /// Nil for a request to a service that delivers nothing.
    init?(_ request: ReceivedRequest) {
        guard let transport = ChaosTransport(service: request.service) else { return nil }
        self.init(
            transport: transport,
            target: request.target,
            sending: request.header(NumberedSender.header).flatMap { Int($0) },
            fate: DeliveryResult(request, speaksHTTP2: transport.speaksHTTP2),
            behavior: request.misbehaviour,
            messageID: request.header("apns-id"),
            texts: request.payload.map(Self.texts),
            complaint: request.detail
        )
    }

    /// Whether the device may have got it.
    package var mayHaveArrived: Bool {
        switch fate {
        case .accepted, .unanswered: true
        case .refused, .unprocessed: false
        }
    }

    private static func texts(in value: JSONValue) -> Set<String> {
        switch value {
        case .string(let text): [text]
        case .array(let elements): elements.reduce(into: []) { $0.formUnion(texts(in: $1)) }
        case .object(let members): members.values.reduce(into: []) { $0.formUnion(texts(in: $1)) }
        default: []
        }
    }
}

extension Arrival.DeliveryResult {
    init(_ request: ReceivedRequest, speaksHTTP2: Bool) {
        switch (request.status, request.misbehaviour) {
        case (let status?, _): self = request.isAccepted ? .accepted(status: status) : .refused(status: status)
        case (nil, .reset(code: 0x7)) where speaksHTTP2: self = .unprocessed
        case (nil, .goAway(gracefully: false, reason: _, code: _)) where speaksHTTP2: self = .unprocessed
        case (nil, _): self = .unanswered
        }
    }
}
