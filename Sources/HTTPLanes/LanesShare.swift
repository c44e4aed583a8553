/// Outgoing HTTP on one account; see ``HTTPSender/share()``.
struct LanesShare: HTTPSender {
    let lanes: HTTPLanes
    let number: UInt32

    func send(
        _ request: HTTPRequest,
        completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void
    ) {
        var request = request
        request.share = number
        lanes.send(request, completion: completion)
    }

    func retire(_ scope: ConnectionScope) { lanes.retire(scope) }

    func share() -> any HTTPSender { lanes.share() }
}
