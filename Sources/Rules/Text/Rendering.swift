import Notifications

/// The notification that a rule makes of an event, and what it could not make of it.
package struct Rendering: Sendable {
    package var notification: Notification
    /// What variables made unfit for its key.
    private(set) var omissions: [Omission] = []

    package init(notification: Notification) {
        self.notification = notification
    }

    /// A value of a rule that is left out, as what variables made of it is not of its key's type or range.
    struct Omission: Hashable, Sendable {
        /// Where it stands in the rule, such as `apns.relevance-score` or `data.amount`.
        let key: String
        /// The platform whose block it is in; nil: it is for all.
        let platform: String?
        /// Whether the platform refuses the block without it, and so gets nothing.
        let withholds: Bool
    }

    /// The keys of the rule that a push to `platform` goes without, or one that has no platform's block.
    package func keysLeftOut(for platform: String?) -> [String] {
        omissions.filter { $0.platform == nil || $0.platform == platform }.map(\.key)
    }

    /// The keys without which nothing may be sent to `platform`; none where a push may go.
    package func keysWithholding(_ platform: String) -> [String] {
        omissions.filter { $0.platform == platform && $0.withholds }.map(\.key)
    }

    /// Notes what was left out at `paths` below `key`. Where the `platform` cannot do without, it `withholds` the push.
    mutating func leaveOut(_ paths: OmittedPaths, of key: String, platform: String? = nil, withholds: Bool = false) {
        var paths = paths
        paths.put(key, beforeThoseSince: 0)
        omissions += paths.paths.map { Omission(key: $0, platform: platform, withholds: withholds) }
    }

    /// The URL that `template` gives, or nothing, which is noted unless the template says nothing either.
    mutating func url(_ template: Template, _ values: TemplateValues, of key: String) -> String {
        let text = template.render(values)
        let url = AbsoluteURL.ifOne(text)
        if url.isEmpty, !text.isEmpty || template.isWholeURL {
            omissions.append(Omission(key: key, platform: nil, withholds: false))
        }
        return url
    }
}
