import Notifications

/// The notification that a rule makes of an event, and the values that are missing from it.
package struct Rendering: Sendable {
    package var notification: Notification
    /// The values that are left out.
    private(set) var omissions: [Omission] = []

    package init(notification: Notification) {
        self.notification = notification
    }

    /// A value that is left out, because variables gave something that its key does not take.
    struct Omission: Hashable, Sendable {
        /// Its path in the rule, such as `data.amount`.
        let key: String
        /// The platform of its block; nil: it is for all.
        let platform: String?
        /// Whether the platform gets no push, because it would refuse the block without this value.
        let withholds: Bool
    }

    /// The keys of the rule that are missing from a push to `platform`; nil is for a push without any platform's block.
    package func keysLeftOut(for platform: String?) -> [String] {
        omissions.filter { $0.platform == nil || $0.platform == platform }.map(\.key)
    }

    /// The missing keys without which nothing may be sent to `platform`; empty if a push may go.
    package func keysWithholding(_ platform: String) -> [String] {
        omissions.filter { $0.platform == platform && $0.withholds }.map(\.key)
    }

    /// Records omissions at `paths` below `key`. They `withhold` the push if the `platform` needs these values.
    mutating func leaveOut(_ paths: OmittedPaths, of key: String, platform: String? = nil, withholds: Bool = false) {
        var paths = paths
        paths.put(key, beforeThoseSince: 0)
        omissions += paths.paths.map { Omission(key: $0, platform: platform, withholds: withholds) }
    }

    /// The URL that `template` gives, or nothing. Records an omission if the template gave something else, or is only a
    /// variable.
    mutating func url(_ template: Template, _ values: TemplateValues, of key: String) -> String {
        let text = template.render(values)
        let url = AbsoluteURL.ifOne(text)
        if url.isEmpty, !text.isEmpty || template.isWholeURL {
            omissions.append(Omission(key: key, platform: nil, withholds: false))
        }
        return url
    }
}
