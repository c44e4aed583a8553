import PluginKit

extension APNsTransport {
    /// A broadcast on its way.
    private struct Broadcast: Sendable {
        let ticket: Ticket
        let channel: ChannelID
        let environment: Environment
        let proof: Proof
        let push: Push
    }

    private static let payloadLimit = 5120
    /// Two fit into what the host waits for a delivery, in milliseconds.
    private static let timeout: UInt32 = 25_000

    /// Sends to everybody who follows a channel. A channel takes updates and ends of Live Activities, and nothing else.
    func broadcast(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission {
        guard let channel = ChannelID(token: registration.token),
            let broadcastKey, broadcastKey.isSame(as: registration.field("broadcast_key"))
        else { return .invalid }
        let now = now()
        do throws(PayloadMistake) {
            guard let push = try broadcastPush(notification, now: now) else {
                ticket.complete(Outcome(.rejected, reason: "not-for-channels"))
                return .accepted
            }
            guard let proof = credentials.proof(now: now) else { return .failed }
            return send(
                Broadcast(
                    ticket: ticket,
                    channel: channel,
                    environment: origins.environment(registration.field("environment")),
                    proof: proof,
                    push: push
                )
            )
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    /// Unless the rule says how long it may be kept, it is not: that suits channels that keep nothing, too.
    private func broadcastPush(
        _ notification: borrowing Notification,
        now: Int64
    ) throws(PayloadMistake) -> Push? {
        guard notification.mode == .alert else { return nil }
        let block = try dispatcher.block(of: notification)
        guard block.pushType(hasText: notification.hasText) == .liveActivity, let activity = block.liveActivity,
            activity.event != .start
        else { return nil }
        return try .liveActivity(
            notification,
            block,
            activity,
            limit: APNsTransport.payloadLimit,
            lifetime: 0,
            now: now
        )
    }

    private func send(_ broadcast: Broadcast) -> Admission {
        var request = HTTPRequest("POST", url: broadcastURLs[broadcast.environment], options: .multiplex)
        request.timeout = APNsTransport.timeout
        request.maxResponseBytes = 4096
        request.connection = broadcast.proof.connection
        if let authorization = broadcast.proof.authorization {
            request.addHeader("authorization", authorization)
        }
        request.addHeader("apns-channel-id", broadcast.channel.text)
        request.addHeader("apns-push-type", broadcast.push.type.rawValue)
        request.addHeader("apns-priority", broadcast.push.priority.headerValue)
        request.addHeader("apns-expiration", String(broadcast.push.expiration))
        if let id = broadcast.push.id {
            request.addHeader("apns-request-id", id)
        }
        request.body = broadcast.push.payload
        return host.send(request) { [self] response in
            finish(broadcast, APNsAnswer(response, now: now()))
        }
    }

    private func finish(_ broadcast: Broadcast, _ answer: APNsAnswer) {
        // Channels that keep nothing take no other expiration than none.
        if answer.status == 400, answer.reason == .badExpirationDate, broadcast.push.expiration != 0 {
            return sendUnkept(broadcast)
        }
        let verdict = answer.verdict(
            forBroadcastAtMainOrigin: broadcast.environment == origins.main,
            isPlaceProven: provenPlaces.contains(broadcast.environment, .broadcasts)
        )
        switch verdict {
        case .expiredProviderToken: broadcast.ticket.complete(outcome(ofExpired: broadcast.proof, now: now()))
        case .outcome(let outcome):
            if outcome.kind == .delivered {
                provenPlaces.insert(broadcast.environment, .broadcasts)
            } else if outcome.kind == .rejected, answer.isAboutChannel {
                reportPlace("APNs does not know a broadcast channel: check in which environment it was made")
            } else if answer.reason == .unrelatedKeyIDInToken {
                credentials.leaveConnections(of: broadcast.proof)
            }
            broadcast.ticket.complete(outcome)
        }
    }

    private func sendUnkept(_ broadcast: Broadcast) {
        let unkept = Broadcast(
            ticket: broadcast.ticket,
            channel: broadcast.channel,
            environment: broadcast.environment,
            proof: broadcast.proof,
            push: broadcast.push.unkept
        )
        if case .accepted = send(unkept) { return }
        broadcast.ticket.complete(Outcome(.retry, reason: "not-sent"))
    }
}
