import Logging
import Notifications
import Storage
import Synchronization

extension Courier {
    /// Works off one batch. Runs on the mailbox's queue alone; the lock is held while the state machine decides, and all
    /// that it asks for is done outside.
    func handle(_ messages: [Message]) {
        let messages = messages.map(settleGone)
        noteProven(messages)
        var actions = CourierActions()
        let now = environment.now()
        var taken = 0
        var answers: [@Sendable () -> Void] = []
        state.withLock { state in
            for message in messages {
                switch message {
                case .gone(let ticket, _, let outcome), .proven(let ticket, let outcome):
                    state.queues.handle(.ended(ticket, outcome), now: now, into: &actions)
                case .event(let event):
                    if case .accepted(let deliveries) = event { taken += deliveries.count }
                    state.queues.handle(event, now: now, into: &actions)
                case .drain(let done):
                    state.queues.handle(.drain, now: now, into: &actions)
                    state.drains.append(done)
                case .probe(let answer):
                    answers.append(answer)
                }
            }
            state.queues.advance(now: now, into: &actions)
        }
        onTheWay.subtract(taken, ordering: .relaxed)
        while true {
            carryOut(actions)
            guard !actions.lookups.isEmpty else { break }
            actions = attempt(actions.lookups, now: now)
        }
        if let wakeAt = actions.wakeAt { wake(at: wakeAt) }
        finishDrains()
        for answer in answers { answer() }
    }

    private func carryOut(_ actions: CourierActions) {
        room.hear(actions.reports)
        if !actions.changes.isEmpty {
            var changes = actions.changes
            let now = environment.now()
            // The sealed ingress has no pace.
            changes.ends = actions.reports.lazy.filter { $0.device.rawValue >= 0 }.compactMap { PushEnd($0, at: now) }
            writer.post(.changes(changes))
        }
        for read in actions.reads { writer.post(.read(read)) }
        if !actions.reports.isEmpty { environment.observer.deliveriesReported(actions.reports) }
        if !actions.postponed.isEmpty { environment.observer.deliveriesPostponed(actions.postponed) }
        for pause in actions.pauses {
            let metadata: Logger.Metadata = [
                "platform": "\(pause.queue.platform)", "app": "\(pause.queue.app)", "reason": "\(pause.reason)",
            ]
            switch pause.cause {
            case .misconfigured: log.error("queue paused: check credentials and plugin", metadata: metadata)
            case .asked: log.warning("queue paused: the push service asked for it", metadata: metadata)
            }
            environment.observer.queuePaused(pause)
        }
        for queue in actions.resumed {
            log.notice("queue works again", metadata: ["platform": "\(queue.platform)", "app": "\(queue.app)"])
            environment.observer.queueResumed(queue)
        }
    }

    /// Finds where each attempt goes, and makes those that may be made.
    private func attempt(_ tickets: [Ticket], now: Int64) -> CourierActions {
        var actions = CourierActions()
        var transports: [Int: any Transport] = [:]
        var unserved: Set<Int> = []
        var failure: (any Error)?
        var addresses: [DeviceAddress?] = []
        var resolutions: [Resolution] = []
        addresses.reserveCapacity(tickets.count)
        resolutions.reserveCapacity(tickets.count)
        for ticket in tickets {
            if transports[ticket.queue] == nil, !unserved.contains(ticket.queue) {
                let delivery = ticket.stored.delivery
                let name = QueueName(platform: delivery.platform, app: delivery.app)
                transports[ticket.queue] = environment.transport(name)
                if transports[ticket.queue] == nil { unserved.insert(ticket.queue) }
            }
            var found: (address: DeviceAddress?, resolution: Resolution) = (nil, .unavailable)
            do {
                found = try resolve(ticket, isServed: !unserved.contains(ticket.queue))
            } catch {
                failure = error
            }
            addresses.append(found.address)
            resolutions.append(found.resolution)
        }
        if let failure { directoryTrouble.occurred(failure, at: now) } else { directoryTrouble.passed(at: now) }
        room.locate(
            zip(tickets, resolutions).compactMap { ticket, resolution in
                guard case .found(let host?) = resolution, host != CourierEnvironment.newDevices else { return nil }
                let delivery = ticket.stored.delivery
                return (QueueName(platform: delivery.platform, app: delivery.app), delivery.device, host)
            }
        )
        let attempts = state.withLock { state in
            let attempts = zip(tickets, resolutions).map { ticket, resolution in
                state.queues.resolved(ticket, resolution, now: now, into: &actions)
            }
            state.queues.advance(now: now, into: &actions)
            return attempts
        }
        var starts: [AttemptStart] = []
        for (index, ticket) in tickets.enumerated() where attempts[index] {
            guard let address = addresses[index], let transport = transports[ticket.queue] else { continue }
            starts.append(AttemptStart(ticket, now: now))
            transport.deliver(ticket.stored.delivery, to: address) { [mailbox] outcome in
                switch outcome.kind {
                case .gone: mailbox.post(.gone(ticket, registeredAt: address.registeredAt, outcome))
                case .delivered where !address.isProven: mailbox.post(.proven(ticket, outcome))
                default: mailbox.post(.event(.ended(ticket, outcome)))
                }
            }
        }
        if !starts.isEmpty { environment.observer.attemptsBegan(starts) }
        return actions
    }

    private func resolve(_ ticket: Ticket, isServed: Bool) throws -> (DeviceAddress?, Resolution) {
        let delivery = ticket.stored.delivery
        guard let address = try environment.directory.address(of: delivery.device) else { return (nil, .unregistered) }
        guard address.platform == delivery.platform, address.app == delivery.app else {
            return (nil, try move(delivery, to: address))
        }
        // Whoever is elsewhere by now need not wait until somebody serves the former place.
        guard isServed else { return (nil, .noTransport) }
        return (address, .found(host: environment.host(address)))
    }

    /// A token means nothing to another push service. A crash between this and the end in the old queue repeats this.
    private func move(_ delivery: Delivery, to address: DeviceAddress) throws -> Resolution {
        var moved = delivery
        moved.platform = address.platform
        moved.app = address.app
        try accept([moved])
        return .moved
    }

    /// Forgets a device that is gone, before its delivery ends: one that was registered anew since the attempt began stays,
    /// and gets the delivery at its new address.
    private func settleGone(_ message: Message) -> Message {
        guard case .gone(let ticket, let registeredAt, let outcome) = message else { return message }
        let device = ticket.stored.delivery.device
        var again = Outcome(.retry, status: outcome.status, reason: "registered-anew")
        do {
            try environment.directory.removeGone(device, registeredAt: registeredAt)
            guard try environment.directory.address(of: device) != nil else { return message }
        } catch {
            directoryTrouble.occurred(error, at: environment.now())
            again.reason = "directory-unavailable"
        }
        return .event(.ended(ticket, again))
    }

    /// What cannot be written is tried another time: then these devices are new ones still.
    private func noteProven(_ messages: [Message]) {
        let devices = messages.compactMap { message -> DeviceID? in
            guard case .proven(let ticket, _) = message else { return nil }
            return ticket.stored.delivery.device
        }
        guard !devices.isEmpty else { return }
        do {
            try environment.directory.markProven(devices)
        } catch {
            directoryTrouble.occurred(error, at: environment.now())
        }
    }

    private func wake(at time: Int64) {
        let isNew = state.withLock { state in
            if let wakeAt = state.wakeAt, wakeAt <= time { return false }
            state.wakeAt = time
            return true
        }
        guard isNew else { return }
        environment.alarm.ring(at: time) { [weak self] in
            self?.state.withLock { state in
                if state.wakeAt == time { state.wakeAt = nil }
            }
            self?.mailbox.post(.event(.wake))
        }
    }

    private func finishDrains() {
        let drains = state.withLock { state -> [@Sendable () -> Void] in
            guard state.queues.isDraining, state.queues.inFlight == 0 else { return [] }
            defer { state.drains = [] }
            return state.drains
        }
        for done in drains { writer.post(.flush(done)) }
    }
}

extension AttemptStart {
    fileprivate init(_ ticket: Ticket, now: Int64) {
        let delivery = ticket.stored.delivery
        self.init(
            queue: QueueName(platform: delivery.platform, app: delivery.app),
            attempt: ticket.stored.attempts + 1,
            age: now - delivery.acceptedAt
        )
    }
}
