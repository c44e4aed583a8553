import Foundation
import HTTPLanes

/// Judges bodies by what their headers call them.
enum RequestBodies {
    /// What is wrong with the first body that is not what it is called, or nil.
    static func flaw(in requests: some Sequence<HTTPRequest>) -> String? {
        for request in requests {
            let isJSON = request.headers.contains {
                $0.name == "content-type" && $0.value.hasPrefix("application/json")
            }
            guard isJSON, (try? JSONSerialization.jsonObject(with: Data(request.body))) == nil else { continue }
            return "a request's content-type is application/json, but its body is no JSON: escape quotes, backslashes "
                + "and control characters"
        }
        return nil
    }
}
