import Console
import Core
import Foundation
import Nostr
import Observability
import Pipeline
import PluginHost
import Push
import Registry
import RouterConfiguration
import Rules

/// Compares the results of two sets of rules for the kept events and the registered devices.
///
/// Both sides are evaluated now, so new devices or unknown names make no difference. Stages after the rules (filters,
/// throttling, quiet hours) are skipped. The result contains no content: a difference only names the changed
/// properties.
struct RulesDifferences: Sendable {
    /// The maximum number of differences in the list.
    private static let maxListed = 200
    /// The maximum number of one account's devices that are compared.
    private static let maxDevices = 50

    private let kept: KeptEventPages
    private let registry: Registry
    private let plugins: PluginHost
    private let now: @Sendable () -> Timestamp

    init(kept: KeptEventPages, registry: Registry, plugins: PluginHost, now: @escaping @Sendable () -> Timestamp) {
        (self.kept, self.registry, self.plugins, self.now) = (kept, registry, plugins, now)
    }

    /// Devices of one account for which rules give the same result.
    private struct DeviceSort: Hashable {
        var route: Route
        var language: LanguageTag?
        var mode: Mode
        var signals: [Signal]
    }

    /// Throws an ``APIError`` if no events are kept, and disk errors.
    func between(
        _ inForce: RuleBook,
        _ other: RuleBook,
        hours: Int,
        _ configuration: Configuration
    ) async throws -> RulesDiff {
        let time = now()
        do {
            let (events, members) = try await kept.events(since: time - .hours(hours))
            return try await DiskWork.run {
                var answer = try compare(events, inForce, other, hours: hours, at: time, configuration)
                answer.members = members
                return answer
            }
        } catch let failure as OperationError where failure.kind == .unavailable {
            throw APIError(409, failure)
        }
    }

    private func compare(
        _ events: [KeptEvent],
        _ inForce: RuleBook,
        _ other: RuleBook,
        hours: Int,
        at time: Timestamp,
        _ configuration: Configuration
    ) throws -> RulesDiff {
        var answer = RulesDiff(
            hours: hours,
            events: events.count,
            since: events.last.map { $0.time.rfc3339 },
            newKinds: Self.newKinds(inForce, other)
        )
        var devices: [PublicKey: [DeviceSort: Int]] = [:]
        for kept in events {
            var differs = false
            for account in kept.accounts {
                let sorts = try devices[account] ?? self.devices(of: account, configuration)
                devices[account] = sorts
                // Sorted, for a stable order.
                for (sort, count) in sorts.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                    let (before, after) = try (
                        decision(on: kept.event, for: account, sort, by: inForce, at: time),
                        decision(on: kept.event, for: account, sort, by: other, at: time)
                    )
                    let changes = before.changes(to: after)
                    guard !changes.isEmpty else { continue }
                    differs = true
                    answer.differences += 1
                    guard answer.list.count < Self.maxListed else { continue }
                    answer.list.append(
                        RulesDiff.Difference(
                            event: kept.event.id.hex,
                            at: kept.time.rfc3339,
                            kind: Int(kept.event.kind.rawValue),
                            account: account.hex,
                            platform: sort.route.platform,
                            app: sort.route.app,
                            language: sort.language?.description,
                            devices: count,
                            before: before.side,
                            after: after.side,
                            changes: changes
                        )
                    )
                }
            }
            if differs { answer.differing += 1 }
        }
        return answer
    }

    private func devices(of account: PublicKey, _ configuration: Configuration) throws -> [DeviceSort: Int] {
        var sorts: [DeviceSort: Int] = [:]
        for listing in try registry.devices(of: account, limit: Self.maxDevices) {
            let locale = try registry.content(of: listing.device)?.locale
            let sort = DeviceSort(
                route: listing.route,
                language: locale.flatMap { LanguageTag($0) },
                mode: listing.mode ?? configuration.defaults.mode,
                signals: listing.signals
            )
            sorts[sort, default: 0] += 1
        }
        return sorts
    }

    private func decision(
        on event: Event,
        for account: PublicKey,
        _ device: DeviceSort,
        by rules: RuleBook,
        at time: Timestamp
    ) throws -> RuledOutcome {
        let author = (try? Relevance.classify(event, for: account))?.author ?? event.pubkey
        let judge = TrialEvaluator(
            rules: rules,
            recipient: account,
            authorName: nil,
            language: device.language?.nearest(among: rules.languages),
            app: device.route.app,
            isAuthorFollowed: try registry.isFollowed(author, by: account),
            now: time
        )
        let platform = device.route.platform
        switch try judge.decision(on: TrialSubject(event, for: account), platform: platform) {
        case .silent(_, let rule): return RuledOutcome(wakesNobodyBy: rule)
        case .wakes(let wakeUp):
            guard device.signals.contains(wakeUp.signal) else { return RuledOutcome(unwanted: wakeUp) }
            guard !plugins.showingPlatforms.contains(platform) || !wakeUp.rule.isSilent(on: platform) else {
                return RuledOutcome(wakesNobodyBy: wakeUp.rule.name)
            }
            return RuledOutcome(
                wakeUp,
                judge.rendering(of: wakeUp, mode: device.mode, on: platform).notification,
                wakeUp.rule.push(on: platform, in: device.mode),
                key: wakeUp.rule.paceKey(
                    of: wakeUp.rule.push(on: platform, in: device.mode),
                    wakeUp.input,
                    now: time
                )
            )
        }
    }

    /// Returns the kinds that only the other rules match. The router drops such events early, so none are kept.
    private static func newKinds(_ inForce: RuleBook, _ other: RuleBook) -> [Int] {
        guard let known = inForce.notifiableKinds, let wanted = other.notifiableKinds else { return [] }
        return wanted.subtracting(known).map(Int.init).sorted()
    }
}

/// The result of the rules for one event and one kind of device.
private struct RuledOutcome {
    private enum Result: Hashable {
        case push(Push.Notification, PacedPush, key: String)
        /// The device has turned the signal off.
        case off
        case nothing
    }

    private let rule: String?
    private let signal: Signal?
    private let result: Result

    init(wakesNobodyBy rule: String?) {
        self.rule = rule
        signal = nil
        result = .nothing
    }

    init(unwanted wakeUp: TrialEvaluator.WakeUp) {
        rule = wakeUp.rule.name
        signal = wakeUp.signal
        result = .off
    }

    init(_ wakeUp: TrialEvaluator.WakeUp, _ notification: Push.Notification, _ push: PacedPush, key: String) {
        rule = wakeUp.rule.name
        signal = wakeUp.signal
        result = .push(notification, push, key: key)
    }

    var side: RulesDiff.Side {
        switch result {
        case .push(let notification, _, _):
            RulesDiff.Side(
                result: .push,
                rule: rule,
                signal: signal?.rawValue,
                mode: notification.mode.name,
                urgency: "\(notification.urgency)"
            )
        case .off: RulesDiff.Side(result: .off, rule: rule, signal: signal?.rawValue)
        case .nothing: RulesDiff.Side(result: rule == nil ? .unmatched : .dropped, rule: rule)
        }
    }

    /// Returns the changed properties by their names in rules. Empty if both sides are equal or neither sends a push.
    func changes(to other: RuledOutcome) -> [String] {
        guard case .push(let before, let push, let key) = result,
            case .push(let after, let otherPush, let otherKey) = other.result
        else {
            switch (result, other.result) {
            case (.push, _), (_, .push): return ["result"]
            default: return []
            }
        }
        let pairs: [(String, Bool)] = [
            ("rule", rule != other.rule), ("signal", signal != other.signal), ("mode", before.mode != after.mode),
            ("urgency", before.urgency != after.urgency), ("title", before.title != after.title),
            ("subtitle", before.subtitle != after.subtitle), ("body", before.body != after.body),
            ("neutral", before.neutral != after.neutral || before.neutralPresentation != after.neutralPresentation),
            ("category", before.category != after.category), ("thread", before.thread != after.thread),
            ("collapse", before.collapseKey != after.collapseKey), ("url", before.url != after.url),
            ("actions", before.actions != after.actions), ("data", before.data != after.data),
            ("expires", before.expiresAt != after.expiresAt),
            ("pace", push != otherPush || key != otherKey),
        ]
        let platforms = Set(before.native.keys).union(after.native.keys).sorted()
        return pairs.filter(\.1).map(\.0) + platforms.filter { before.native[$0] != after.native[$0] }
    }
}

/// The events for which other rules give a different result.
package struct RulesDiff: OperatorAnswer {
    package enum Result: String, Codable, Sendable, CaseIterable {
        case push, off, dropped, unmatched
    }

    package struct Side: Codable, Sendable, Equatable {
        /// `off`: the device has turned the signal off.
        package var result: Result
        package var rule: String?
        package var signal: String?
        package var mode: String?
        package var urgency: String?

        var words: String {
            switch result {
            case .push:
                ["push by '\(rule ?? "")'", signal ?? "", mode ?? "", urgency ?? ""].filter { !$0.isEmpty }
                    .joined(separator: ", ")
            case .off: "nothing: the device has \(signal ?? "its signal") off"
            case .dropped: "nothing: '\(rule ?? "")' drops it"
            case .unmatched: "nothing: no rule matches it"
            }
        }
    }

    package struct Difference: Codable, Sendable, Equatable {
        package var event: String
        package var at: String
        package var kind: Int
        package var account: String
        package var platform: String
        package var app: String
        package var language: String?
        /// The number of the account's devices with this difference.
        package var devices: Int
        package var before: Side
        package var after: Side
        /// The changed properties; `result` if only one side sends a push.
        package var changes: [String]
    }

    /// The compared period in hours.
    package var hours: Int
    /// The number of compared events, and how many of them differ for any device.
    package var events: Int
    package var differing = 0
    /// The time of the oldest event; `nil` if there are none.
    package var since: String?
    /// The total number; `list` has only the first ones.
    package var differences = 0
    package var list: [Difference] = []
    /// Kinds that only the other rules match. No such event is kept, so none was compared.
    package var newKinds: [Int]
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package var text: String {
        var lines = ["\(events) events of the last \(hours) h, \(differing) would become something else"]
        for each in list {
            let language = each.language.map { ", \($0)" } ?? ""
            let count = each.devices == 1 ? "" : ", \(each.devices) devices"
            lines.append("")
            lines.append("\(each.event)  kind \(each.kind)  \(each.at)")
            lines.append("  to \(each.account), \(each.platform) (\(each.app)\(language)\(count))")
            lines.append("  before: \(each.before.words)")
            lines.append("  after:  \(each.after.words)")
            if each.changes != ["result"] { lines.append("  other:  \(each.changes.joined(separator: ", "))") }
        }
        if differences > list.count { lines += ["", "and \(differences - list.count) more"] }
        if !newKinds.isEmpty {
            lines += [
                "",
                "Only the other rules are for the kinds \(newKinds.map(String.init).joined(separator: ", ")): such events were not "
                    + "kept, so that none was tried.",
            ]
        }
        if let missing = members?.lines, !missing.isEmpty { lines += [""] + missing }
        return lines.joined(separator: "\n")
    }
}

extension RouterOrFiles {
    /// Asks the running router to compare rules. Default for `rules`: the files on disk. With a `file`, the rules
    /// replace that file. `path` is where the rules were read.
    ///
    /// Throws an ``OperationError``, or `Diagnostics` if the API's token cannot be read.
    package func compare(rules: String?, of path: String?, file: String?, hours: Int) async throws -> RulesDiff {
        struct Request: Encodable {
            var rules: String?
            var file: String?
            var hours: Int
        }
        let body = try JSONEncoder().encode(Request(rules: rules, file: file, hours: hours))
        do {
            return try await require("POST", "/v1/rules/diff", [:], body: body, toDo: "compare rules")
        } catch let failure as OperationError {
            // The router knows only the text, so the error gets the file's path here.
            guard let path else { throw failure }
            let words = failure.description.replacing("\nrules:", with: "\n\(path):")
            throw OperationError(kind: failure.kind, description: words)
        }
    }
}
