/// What a request asks for, by its method and target.
enum IngressRoute: Equatable {
    /// `GET /`: whether we are there.
    case status
    /// `POST /push/:device_token/:id`
    case push(PushResource)
    /// There is something at this path, but not for this method; `allow` names those there are.
    case wrongMethod(allow: String)
    /// Nothing, now and at any other time.
    case unknown

    init(method: String, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first ?? ""
        let query = parts.count > 1 ? parts[1] : ""
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        if path == "/" {
            self = ["GET", "HEAD"].contains(method) ? .status : .wrongMethod(allow: "GET, HEAD")
        } else if segments.count == 4, segments[0].isEmpty, segments[1] == "push" {
            guard method == "POST" else {
                self = .wrongMethod(allow: "POST")
                return
            }
            self = PushResource(token: segments[2], id: segments[3], query: query).map(Self.push) ?? .unknown
        } else {
            self = .unknown
        }
    }
}
