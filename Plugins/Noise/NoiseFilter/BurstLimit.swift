import PluginKit

/// How many events of one author pass to one recipient within a while.
struct BurstLimit {
    let events: Int
    /// In milliseconds.
    let span: Int64

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: ["events", "seconds"])
        guard let events = try object.integer("events", in: 1...100) else {
            throw PluginError("events: expected a whole number from 1 to 100, found nothing")
        }
        guard let seconds = try object.integer("seconds", in: 1...86_400) else {
            throw PluginError("seconds: expected a whole number from 1 to 86400, found nothing")
        }
        self.events = Int(events)
        span = seconds * 1000
    }
}
