import CarillonABI
import PluginProtocol
import Synchronization

/// Sends deliveries to a process, and passes outcomes to the hosts.
extension InstanceTable {
    /// A delivery and the frame that sends only it.
    private struct EncodedDelivery {
        let id: UInt64
        let ticket: UInt64
        let frame: [UInt8]
    }

    // MARK: Sending deliveries

    /// Nil: the delivery exceeds its limit.
    private func handout(
        _ instance: UInt32,
        _ ticket: UInt64,
        _ body: (inout FrameWriter) -> Void
    ) -> EncodedDelivery? {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let frame = FrameWriter.frame(.deliver, id: id) { writer in
            writer.number(instance)
            body(&writer)
        }
        return frame.map { EncodedDelivery(id: id, ticket: ticket, frame: $0) }
    }

    /// Sends deliveries, whose registrations and notifications `body` writes: several in one frame if they may be sent
    /// now and fit. OK: all are accepted. UNSUPPORTED: one of several exceeds its limit; INVALID: a single one does.
    func deliver(
        _ instance: UInt32,
        _ tickets: [UInt64],
        _ body: (Int, inout FrameWriter) -> Void
    ) -> carillon_status {
        var handouts: [EncodedDelivery] = []
        handouts.reserveCapacity(tickets.count)
        for (index, ticket) in tickets.enumerated() {
            guard let handout = handout(instance, ticket, { body(index, &$0) }) else {
                return tickets.count == 1 ? .CARILLON_INVALID : .CARILLON_UNSUPPORTED
            }
            handouts.append(handout)
        }
        let (admission, session) = withLock { state -> (DeliveryTable.Decision?, ChildSession?) in
            guard !state.isClosed, state.instanceSet.takesDeliveries(instance) else { return (nil, nil) }
            var admission = DeliveryTable.Decision.wait
            for handout in handouts where admission != .full {
                admission = state.deliveryTable.admit(
                    handout.id,
                    instance: instance,
                    ticket: handout.ticket,
                    frame: handout.frame
                )
            }
            // All of them or none.
            if admission == .full { for handout in handouts { state.deliveryTable.withdraw(handout.id) } }
            return (admission, state.session)
        }
        switch admission {
        case nil: return .CARILLON_FAILED
        case .full: return .CARILLON_BUSY
        case .wait: return .CARILLON_OK
        case .send:
            send(handouts, of: instance, to: session)
            return .CARILLON_OK
        }
    }

    /// Sends deliveries that the delivery table permits, in as few frames as possible.
    private func send(_ handouts: [EncodedDelivery], of instance: UInt32, to session: ChildSession?) {
        var rest = handouts[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(DeliverManyMessage.count(of: rest.map(\.frame.count))))
            rest = rest.dropFirst(part.count)
            hand(part, of: instance, to: session)
        }
    }

    /// Sends deliveries in one frame. If the process does not keep up, they end as retries. If it has just died, the
    /// next one gets them with its other open deliveries.
    private func hand(_ part: [EncodedDelivery], of instance: UInt32, to session: ChildSession?) {
        guard let first = part.first else { return }
        var frame = first.frame
        if part.count > 1 {
            withLock { state in
                if state.session === session { state.deliveryTable.handOutTogether(part.map(\.id)) }
            }
            var writer = FrameWriter()
            writer.frame(.deliverMany, id: first.id) { body in
                DeliverManyMessage.write(part.map { ($0.id, $0.frame) }, to: &body)
            }
            frame = writer.take()
        }
        guard case .full? = session?.send(frame, mayRefuse: true) else { return }
        for delivery in part {
            let host = withLock { state in
                state.deliveryTable.end(delivery.id, of: instance) == nil ? nil : state.instanceSet.host(of: instance)
            }
            host?.complete(delivery.ticket, .CARILLON_RETRY, reason: "busy")
        }
    }

    func cancel(_ instance: UInt32, _ ticket: UInt64) {
        let (cancellation, session, host, frames) = withLock { state in
            let cancellation = state.deliveryTable.cancel(instance: instance, ticket: ticket)
            let frames = cancellation == .ended ? state.deliveryTable.takeNext() : []
            return (cancellation, state.session, state.instanceSet.host(of: instance), frames)
        }
        switch cancellation {
        case .unknown: break
        case .ended:
            host?.complete(ticket, .CARILLON_RETRY, reason: "cancelled")
            Self.send(frames, to: session)
        case .forward(let id):
            _ = session?.send(.cancel, id: id) { InstanceMessage(instance: instance).write(to: &$0) }
        }
    }

    // MARK: Outcomes

    /// Handles `completed`.
    func complete(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try OutcomeMessage(reading: frame)
        end(frame.id, of: message.instance, from: session) { $0.complete($1, message.outcome) }
    }

    /// Handles `refused`.
    func refuse(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try RefusedMessage(reading: frame)
        end(frame.id, of: message.instance, from: session) { host, ticket in
            let (kind, reason) = Self.outcome(of: message.status)
            host.complete(ticket, kind, reason: reason)
        }
    }

    /// Ends a delivery. An unknown one is passed to the host as ticket 0, which counts it and ignores it.
    private func end(
        _ id: UInt64,
        of instance: UInt32,
        from session: ChildSession,
        _ tell: (any InstanceHost, UInt64) -> Void
    ) {
        let (host, ticket, frames) = withLock { state -> ((any InstanceHost)?, UInt64, [[UInt8]]) in
            let entry = state.session === session ? state.deliveryTable.end(id, of: instance) : nil
            return (state.instanceSet.host(of: instance), entry?.ticket ?? 0, state.takeNext())
        }
        if let host { tell(host, ticket) }
        Self.send(frames, to: session)
    }

    /// The outcome of a delivery that a plugin did not accept.
    private static func outcome(of status: carillon_status) -> (carillon_outcome_kind, StaticString) {
        switch status {
        case .CARILLON_INVALID: (.CARILLON_REJECTED, "invalid")
        case .CARILLON_UNSUPPORTED: (.CARILLON_REJECTED, "unsupported")
        case .CARILLON_BUSY: (.CARILLON_RETRY, "busy")
        default: (.CARILLON_RETRY, "failed")
        }
    }
}
