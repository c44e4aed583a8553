import HTTPLanes
import Platforms
import Units

/// How large a push is in the way its service counts, and how large it may be.
package struct PushSize: Sendable, Equatable {
    let count: ByteCount
    let limit: ByteCount

    /// Nil where the plugin says nothing about sizes, and where the request has none of what counts.
    init?(_ request: HTTPRequest, _ limits: PushLimits?) {
        let headers = request.headers.map { (name: $0.name, value: $0.value) }
        guard let size = limits?.size(ofBody: request.body, headers: headers) else { return nil }
        (count, limit) = size
    }
}
