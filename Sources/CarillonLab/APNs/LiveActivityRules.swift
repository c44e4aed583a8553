/// What a push for a Live Activity has to have, and where it differs from an alert.
struct LiveActivityRules {
    private static let onlyAtStart = ["attributes-type", "attributes", "input-push-token", "input-push-channel"]

    let aps: [String: JSONValue]

    func check(priority: Int) throws(APNsRefusal) {
        guard priority != 1 else { throw APNsRefusal(.badPriority, "a Live Activity push has priority 5 or 10, not 1") }
        let event = aps["event"]?.string
        guard let event, aps["timestamp"] != nil else { throw refusal("has event and timestamp in \"aps\"") }
        guard aps["content-state"] != nil || event == "end" else { throw refusal("that is no end has content-state") }
        guard aps["sound"] == nil else { throw refusal("has its sound inside the alert") }
        if event == "start" {
            for key in ["alert", "attributes-type", "attributes"] where aps[key] == nil {
                throw refusal("that starts one has \(key)")
            }
        } else {
            for key in Self.onlyAtStart where aps[key] != nil { throw refusal("that starts none has no \(key)") }
        }
        if event != "end", aps["dismissal-date"] != nil {
            throw refusal("that ends none has no dismissal-date")
        }
        try checkAlert()
    }

    private func checkAlert() throws(APNsRefusal) {
        guard let alert = aps["alert"] else { return }
        guard let members = alert.object else { throw refusal("has an object for an alert") }
        let texts = [members["title"], members["body"]].compactMap { $0 }
        guard !texts.isEmpty else { throw refusal("has a title or a body in its alert") }
        for case .object(let text) in texts where text["loc-key"]?.string == nil {
            throw refusal("has a text or a loc-key for title and body")
        }
        for key in ["title-loc-key", "loc-key", "subtitle-loc-key"] where members[key] != nil {
            throw refusal("has loc-key inside title and body, not \(key)")
        }
    }

    private func refusal(_ rule: String) -> APNsRefusal {
        APNsRefusal(.invalidPushType, "a Live Activity push " + rule)
    }
}
