import Cipher

/// Checks the requests of one connection as strictly as APNs does, in its order.
struct APNsGate {
    private var authentication: APNsAuthentication

    init(_ environment: APNsEnvironment) {
        authentication = APNsAuthentication(environment)
    }

    /// `certificate` is the client's, if it showed one; `now` in milliseconds since 1970; `random` gives the id of a request
    /// that brought none.
    mutating func judge(
        _ request: HTTP2Request,
        _ certificate: ProviderCertificate?,
        _ state: APNsState,
        now: Int64,
        random: RandomBytes
    ) -> APNsVerdict {
        var verdict = APNsVerdict(request, random)
        do throws(APNsRefusal) {
            if request.bundleIDToBroadcastFor != nil {
                let broadcast = try APNsBroadcast(checking: request)
                let sender = try authenticate(request, certificate, state, now, &verdict)
                try broadcast.check(request, sender, state, in: authentication.environment)
            } else {
                let headers = try APNsHeaders(checking: request, defaultTopic: certificate?.onlyTopic)
                try state.devices.check(request.path, topic: headers.topic, in: authentication.environment)
                let sender = try authenticate(request, certificate, state, now, &verdict)
                try sender.check(headers)
                try APNsPayload.check(request, headers)
            }
        } catch {
            verdict.refusal = error
        }
        return verdict
    }

    private mutating func authenticate(
        _ request: HTTP2Request,
        _ certificate: ProviderCertificate?,
        _ state: APNsState,
        _ now: Int64,
        _ verdict: inout APNsVerdict
    ) throws(APNsRefusal) -> APNsSender {
        let sender = try authentication.check(request, certificate, keys: state.keys, now: now)
        verdict.isAuthorized = true
        return sender
    }
}
