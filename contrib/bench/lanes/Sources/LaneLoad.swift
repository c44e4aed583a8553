import HTTPLanes

/// Requests as the APNs plugin makes them, straight to the lanes.
struct LaneLoad: Load {
    private let lanes: HTTPLanes
    private let url: String
    private let body = [UInt8](
        #"{"aps":{"alert":{"title":"bench","body":"\#(String(repeating: "b", count: 158))"}}}"#.utf8
    )
    private let token = "bearer " + String(repeating: "t", count: 200)

    init(lanes: HTTPLanes, origin: String) {
        self.lanes = lanes
        url = origin + "/3/device/" + Self.device
    }

    func push(_ number: Int, completion: @escaping @Sendable (Bool) -> Void) {
        var headers = HTTPFields(reservingFields: 6, bytes: 384)
        headers.append("authorization", token)
        headers.append("apns-id", Self.identifier(number))
        headers.append("apns-topic", "com.example.app")
        headers.append("apns-push-type", "alert")
        headers.append("apns-priority", "10")
        headers.append("apns-expiration", "0")
        let request = HTTPRequest(method: "POST", url: url, headers: headers, body: body, multiplexed: true)
        lanes.send(request) { result in
            if case .success(let response) = result { completion(response.status == 200) } else { completion(false) }
        }
    }
}
