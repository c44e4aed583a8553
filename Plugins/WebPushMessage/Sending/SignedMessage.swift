internal import PluginKit

/// A message for one subscription but for what signs it; the same on every attempt.
package struct SignedMessage: Sendable {
    package let endpoint: Endpoint
    /// Names are in lower case.
    package private(set) var headers: [(name: StaticString, value: String)] = []
    package var body: [UInt8] = []

    package init(to endpoint: Endpoint) {
        self.endpoint = endpoint
        headers.reserveCapacity(6)
    }

    package mutating func addHeader(_ name: StaticString, _ value: String) {
        headers.append((name, value))
    }

    /// The request, with the value of `Authorization` where it is signed. `timeout` is in milliseconds.
    func request(authorization: String?, timeout: UInt32) -> HTTPRequest {
        let options: HTTPRequest.Options =
            PushService.isBusy(endpoint.origin) ? [.untrustedURL, .multiplex] : .untrustedURL
        var request = HTTPRequest("POST", url: endpoint.url, options: options)
        request.timeout = timeout
        request.maxResponseBytes = 4096
        for header in headers {
            request.addHeader(header.name, header.value)
        }
        if let authorization {
            request.addHeader("authorization", authorization)
        }
        request.body = body
        return request
    }
}
