import Notifications

/// The notification that a rule makes of an event, and what it could not make of it.
package struct Rendering: Sendable {
    package var notification: Notification
    /// The values that are left out.
    private(set) var omissions: [Omission] = []

    package init(notification: Notification) {
        self.notification = notification
    }

    /// A value of a rule that is left out, because variables made something of it that its key does not take.
    struct Omission: Hashable, Sendable {
        /// Where it stands in the rule, such as `apns.relevance-score` or `data.amount`.
        let key: String
        /// The platform whose block it is in; nil: it is for all.
        let platform: String?
        /// Whether the platform gets nothing at all, because it refuses the block without this.
        let withholds: Bool
    }

    /// The keys of the rule that a push to `platform` goes without; nil is for a push without any platform's block.
    package func keysLeftOut(for platform: String?) -> [String] {
        omissions.filter { $0.platform == nil || $0.platform == platform }.map(\.key)
    }

    /// The keys whose values are missing so that nothing may be sent to `platform`; empty if a push may go.
    package func keysWithholding(_ platform: String) -> [String] {
        omissions.filter { $0.platform == platform && $0.withholds }.map(\.key)
    }

    /// Notes what was left out at `paths` below `key`. It `withholds` the push if the `platform` cannot do without.
    mutating func leaveOut(_ paths: OmittedPaths, of key: String, platform: String? = nil, withholds: Bool = false) {
        var paths = paths
        paths.put(key, beforeThoseSince: 0)
        omissions += paths.paths.map { Omission(key: $0, platform: platform, withholds: withholds) }
    }

    /// The URL that `template` gives, or nothing. Notes an omission if the template gave something else, or is no more
    /// than a variable.
    mutating func url(_ template: Template, _ values: TemplateValues, of key: String) -> String {
        let text = template.render(values)
        let url = AbsoluteURL.ifOne(text)
        if url.isEmpty, !text.isEmpty || template.isWholeURL {
            omissions.append(Omission(key: key, platform: nil, withholds: false))
        }
        return url
    }
}
