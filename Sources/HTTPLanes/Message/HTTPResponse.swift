/// What a server answered.
package struct HTTPResponse: Sendable, Hashable {
    package var status: Int
    /// Names in lower case.
    package var headers: HTTPFields
    /// At most `maxResponseBytes` of the request.
    package var body: [UInt8]

    package init(status: Int, headers: HTTPFields = HTTPFields(), body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
