import CarillonABI
import PluginProtocol
import Synchronization

/// Hands deliveries to a process, and the outcomes to the hosts.
final class DeliveryChannel: Sendable {
    /// A delivery and the frame that hands it out alone.
    private struct Handout {
        let id: UInt64
        let ticket: UInt64
        let frame: [UInt8]
    }

    private let work: ProcessWork
    private let lastID: Atomic<UInt64>

    /// The ids of new deliveries follow `lastID`.
    init(_ work: ProcessWork, after lastID: UInt64 = 0) {
        self.work = work
        self.lastID = Atomic(lastID)
    }

    /// The channel of a part of the work, where deliveries keep their ids.
    func part(_ work: ProcessWork) -> DeliveryChannel {
        DeliveryChannel(work, after: lastID.load(ordering: .relaxed))
    }

    // MARK: Handing out

    func deliver(
        _ instance: UInt32,
        _ ticket: UInt64,
        _ registration: carillon_registration,
        _ notification: carillon_notification
    ) -> carillon_status {
        guard let handout = handout(instance, ticket, registration, notification) else { return .CARILLON_INVALID }
        let (admission, session) = work.withLock { state -> (DeliveryLedger.Admission?, ChildSession?) in
            guard !state.isClosed, state.roster.takesDeliveries(instance) else { return (nil, nil) }
            let admission = state.ledger.admit(handout.id, instance: instance, ticket: ticket, frame: handout.frame)
            return (admission, state.session)
        }
        switch admission {
        case nil: return .CARILLON_FAILED
        case .full: return .CARILLON_BUSY
        case .wait: return .CARILLON_OK
        case .send:
            // A process that has just died: the next one gets what this one had in hand, and so this delivery.
            guard case .full? = session?.send(handout.frame, mayRefuse: true) else { return .CARILLON_OK }
            let isWithdrawn = work.withLock { $0.ledger.end(handout.id, of: instance) != nil }
            return isWithdrawn ? .CARILLON_BUSY : .CARILLON_OK
        }
    }

    /// Nil: the delivery is longer than it may be.
    private func handout(
        _ instance: UInt32,
        _ ticket: UInt64,
        _ registration: carillon_registration,
        _ notification: carillon_notification
    ) -> Handout? {
        let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
        let frame = FrameWriter.frame(.deliver, id: id) { body in
            DeliverMessage.write(instance: instance, registration, notification, to: &body)
        }
        return frame.map { Handout(id: id, ticket: ticket, frame: $0) }
    }

    /// Hands several deliveries out in one frame where they may go out now and fit. OK: all are taken. UNSUPPORTED: one
    /// of them does not fit at all.
    func deliver(_ instance: UInt32, _ deliveries: some Collection<carillon_delivery>) -> carillon_status {
        var handouts: [Handout] = []
        for delivery in deliveries {
            guard let registration = delivery.registration, let notification = delivery.notification else {
                return .CARILLON_INVALID
            }
            guard let handout = handout(instance, delivery.ticket, registration.pointee, notification.pointee) else {
                return .CARILLON_UNSUPPORTED
            }
            handouts.append(handout)
        }
        let (admission, session) = work.withLock { state -> (DeliveryLedger.Admission?, ChildSession?) in
            guard !state.isClosed, state.roster.takesDeliveries(instance) else { return (nil, nil) }
            var admission = DeliveryLedger.Admission.wait
            for handout in handouts where admission != .full {
                admission = state.ledger.admit(
                    handout.id,
                    instance: instance,
                    ticket: handout.ticket,
                    frame: handout.frame
                )
            }
            // All of them or none.
            if admission == .full { for handout in handouts { state.ledger.withdraw(handout.id) } }
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

    /// Sends deliveries that the ledger lets out, in as few frames as hold them.
    private func send(_ handouts: [Handout], of instance: UInt32, to session: ChildSession?) {
        var rest = handouts[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(DeliverManyMessage.count(of: rest.map(\.frame.count))))
            rest = rest.dropFirst(part.count)
            hand(part, of: instance, to: session)
        }
    }

    /// Sends deliveries in one frame. Those that the process does not keep up with end as retries.
    private func hand(_ part: [Handout], of instance: UInt32, to session: ChildSession?) {
        guard let first = part.first else { return }
        var frame = first.frame
        if part.count > 1 {
            work.withLock { state in
                if state.session === session { state.ledger.handOutTogether(part.map(\.id)) }
            }
            var writer = FrameWriter()
            writer.frame(.deliverMany, id: first.id) { body in
                DeliverManyMessage.write(part.map { ($0.id, $0.frame) }, to: &body)
            }
            frame = writer.take()
        }
        guard case .full? = session?.send(frame, mayRefuse: true) else { return }
        for delivery in part {
            let host = work.withLock { state in
                state.ledger.end(delivery.id, of: instance) == nil ? nil : state.roster.host(of: instance)
            }
            host?.complete(delivery.ticket, .CARILLON_RETRY, reason: "busy")
        }
    }

    func cancel(_ instance: UInt32, _ ticket: UInt64) {
        let (cancellation, session, host, frames) = work.withLock { state in
            let cancellation = state.ledger.cancel(instance: instance, ticket: ticket)
            let frames = cancellation == .ended ? state.ledger.takeNext() : []
            return (cancellation, state.session, state.roster.host(of: instance), frames)
        }
        switch cancellation {
        case .unknown: break
        case .ended:
            host?.complete(ticket, .CARILLON_RETRY, reason: "cancelled")
            ProcessWork.send(frames, to: session)
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

    /// A delivery has ended. One that is unknown goes to the host as ticket 0, which counts it and ignores it.
    private func end(
        _ id: UInt64,
        of instance: UInt32,
        from session: ChildSession,
        _ tell: (HostPointer, UInt64) -> Void
    ) {
        let (host, ticket, frames) = work.withLock { state -> (HostPointer?, UInt64, [[UInt8]]) in
            let entry = state.session === session ? state.ledger.end(id, of: instance) : nil
            return (state.roster.host(of: instance), entry?.ticket ?? 0, state.takeNext())
        }
        if let host { tell(host, ticket) }
        ProcessWork.send(frames, to: session)
    }

    /// The outcome of a delivery that a plugin would not accept.
    private static func outcome(of status: carillon_status) -> (carillon_outcome_kind, StaticString) {
        switch status {
        case .CARILLON_INVALID: (.CARILLON_REJECTED, "invalid")
        case .CARILLON_UNSUPPORTED: (.CARILLON_REJECTED, "unsupported")
        case .CARILLON_BUSY: (.CARILLON_RETRY, "busy")
        default: (.CARILLON_RETRY, "failed")
        }
    }
}
