import AccountWatch
import EventTrace
import Foundation
import RelayPool
import YAMLReading

/// Reads the blocks on the ways in. `nil` stands for a block that is left out.
extension ConfigurationReader {
    /// `ownURL` is where we are ourselves: a relay that must not be among the others.
    func relays(_ value: YAMLValue?, ownURL: String) -> Configuration.Relays {
        var relays = Configuration.Relays()
        guard let mapping = value?.mapping(keys: ["always", "per_user", "nip46", "publish", "catch_up_hours"]) else {
            return relays
        }
        let own = RelayURL(ownURL)
        relays.always = mapping["always"].map { urls($0, except: own) } ?? []
        relays.nip46 = mapping["nip46"].map { urls($0, except: own) } ?? relays.always
        relays.publish = mapping["publish"].map { urls($0, except: own) } ?? relays.always
        relays.perUser = mapping["per_user"].flatMap(choice) ?? relays.perUser
        relays.catchUpHours = mapping["catch_up_hours"]?.integer(in: 1...720) ?? relays.catchUpHours
        return relays
    }

    /// Each once, in the order of the file.
    private func urls(_ value: YAMLValue, except own: RelayURL?) -> [RelayURL] {
        var urls: [RelayURL] = []
        for value in value.oneOrMore() {
            guard let text = value.string() else { continue }
            guard let url = RelayURL(text) else {
                value.mistake("expected a relay's URL, as in wss://relay.example.com")
                continue
            }
            if url == own {
                value.mistake("this is our own relay socket, as relay.url says: we are connected to ourselves already")
            } else if !urls.contains(url) {
                urls.append(url)
            }
        }
        return urls
    }

    /// One word, or a mapping where there is more to say.
    func hints(_ value: YAMLValue?) -> Configuration.Hints {
        var hints = Configuration.Hints()
        guard let value else { return hints }
        guard value.isMapping else {
            hints.policy = choice(value) ?? hints.policy
            return hints
        }
        guard let mapping = value.mapping(keys: ["mode", "silent_minutes"]) else { return hints }
        hints.policy = mapping["mode"].flatMap(choice) ?? hints.policy
        hints.silentMinutes = mapping["silent_minutes"]?.integer(in: 1...10_080) ?? hints.silentMinutes
        return hints
    }

    func registration(_ value: YAMLValue?) -> Configuration.Registration {
        var registration = Configuration.Registration()
        guard let mapping = value?.mapping(keys: ["require_session", "secret_file"]) else { return registration }
        registration.requireSession = mapping["require_session"]?.bool() ?? false
        registration.secretFile = mapping["secret_file"]?.string().map(path)
        registration.secretFilePlace = mapping["secret_file"]?.place ?? (0, 0)
        return registration
    }

    func context(_ value: YAMLValue?) -> Configuration.Context {
        var context = Configuration.Context()
        guard let value else { return context }
        guard value.isMapping else {
            context.isOn = value.string() != "off"
            if context.isOn { value.mistake("expected off, or a mapping with wait_milliseconds, path") }
            return context
        }
        guard let mapping = value.mapping(keys: ["wait_milliseconds", "path"]) else { return context }
        if let wait = mapping["wait_milliseconds"]?.integer(in: 0...10_000) { context.waitMilliseconds = Int64(wait) }
        context.path = mapping["path"]?.string().map(path)
        context.place = mapping["path"]?.place ?? (0, 0)
        return context
    }

    /// How much of what became of events is kept, or `off`.
    func trace(_ value: YAMLValue?) -> TraceLimits? {
        var limits = TraceLimits()
        guard let value else { return limits }
        guard value.isMapping else {
            if value.string() == "off" { return nil }
            value.mistake("expected off, or a mapping with rows, days")
            return limits
        }
        guard let mapping = value.mapping(keys: ["rows", "days"]) else { return limits }
        limits.rows = mapping["rows"]?.integer(in: TraceLimits.rowRange) ?? limits.rows
        limits.days = mapping["days"]?.integer(in: TraceLimits.dayRange) ?? limits.days
        return limits
    }

    private func choice<Choice: CaseIterable & RawRepresentable<String>>(_ value: YAMLValue) -> Choice? {
        value.choice(Choice.allCases.map(\.rawValue)).flatMap(Choice.init)
    }
}
