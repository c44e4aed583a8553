/// Answers requests to the lab's UnifiedPush or ntfy server, and records them.
struct NtfyResponder: Sendable {
    let core: LabCore
    /// ``LabService/unifiedPush`` or ``LabService/ntfy``.
    let service: LabService
    let oversize: LabConfiguration.UnifiedPush.Oversize
    let access: NtfyAccess
    /// Available once the service listens.
    let origin: @Sendable () -> String

    func decide(_ request: LabRequest) -> HTTP1Step {
        let allowed = LabHeader("access-control-allow-origin", "*")
        if request.method == "GET", var answer = read(request) {
            answer.headers.append(allowed)
            return .answer(answer)
        }
        let topic = (try? NtfyPublication.topic(of: request)) ?? ""
        var decision = core.decide(request, of: service, target: topic) { topic throws(NtfyError) in
            let publication = try NtfyPublication(checking: request, oversize: oversize)
            topic = publication.topic
            return try publish(publication, request)
        } refuse: {
            $0.reply
        } ordered: {
            NtfyError.ordered($0).reply
        }
        decision.answer.headers.append(allowed)
        return HTTP1Step(decision)
    }

    /// Answers requests that are not messages. They are not recorded, because they may come from clients of the program
    /// that used the port before.
    private func read(_ request: LabRequest) -> HTTPAnswer? {
        if request.path == "/v1/health" { return HTTPAnswer(status: 200, json: #"{"healthy":true}"#) }
        guard !NtfyPublication.publishesByGet(request) else { return nil }
        guard NtfyParameters(request).asksForUnifiedPush, (try? NtfyPublication.topic(of: request)) != nil else {
            return NtfyError.notFound.reply.answer
        }
        return HTTPAnswer(status: 200, json: #"{"unifiedpush":{"version":1}}"#)
    }

    private func publish(_ publication: NtfyPublication, _ request: LabRequest) throws(NtfyError) -> LabReply {
        try access.check(request, topic: publication.topic)
        let (receiver, topic) = core.withState { state in
            (state.receivers[publication.topic], state.topics[service]?[publication.topic])
        }
        if let refusal = topic?.refusal(isUnifiedPush: publication.isUnifiedPush) { throw refusal }
        let now = core.now()
        let message = try NtfyMessage(publication, now: now / 1_000, random: core.random).members
        var reply = LabReply(answer: HTTPAnswer(status: 200, json: message.compact), message: message)
        if let receiver {
            if let key = receiver.applicationServerKey {
                try checkVAPID(request, key, now: now)
            }
            // A push server cannot read the body and accepts anything. The record shows the
            // device's result.
            if publication.isEncrypted {
                do {
                    reply.decrypted = try receiver.decryption.open(publication.body)
                } catch {
                    reply.detail = "the device cannot read it: \(error)"
                }
            } else {
                reply.detail = "the device cannot read it: there is no Content-Encoding aes128gcm"
            }
        }
        if request.body.count > publication.body.count, publication.isUnifiedPush {
            reply.detail = "the message has \(request.body.count) bytes and was cut at \(publication.body.count)"
        }
        return reply
    }

    /// Checks the signature for an app that gave its distributor its server's key (AND_3, RFC 8292 section 4.2).
    private func checkVAPID(_ request: LabRequest, _ key: String, now: Int64) throws(NtfyError) {
        guard let authorization = request.header("authorization") else {
            throw NtfyError(40101, "the endpoint takes messages of one application server only")
        }
        let check = VAPIDCheck(origin: request.origin(or: origin()), now: now / 1_000, needsSubject: false)
        do throws(WebPushError) {
            guard try check.check(authorization) == key else {
                throw WebPushError(.keyMismatch, "the app registered with another key than k")
            }
        } catch {
            throw NtfyError(40301, "VAPID: \(error.detail)")
        }
    }
}

/// Accepts everything: replaces push services of plugins that the lab does not know.
struct OtherResponder: Sendable {
    let core: LabCore

    func decide(_ request: LabRequest) -> HTTP1Step {
        // A redirecting client names the original host here.
        let target = request.header("x-forwarded-host") ?? ""
        let reply = LabReply(answer: HTTPAnswer(status: 200, json: "{}"))
        let misbehaviour = core.misbehaviour(towards: target, of: .other)
        return HTTP1Step(
            core.settle(request, of: .other, target, reply, misbehaviour) {
                LabReply(answer: HTTPAnswer(status: $0.status, json: "{}"))
            }
        )
    }
}
