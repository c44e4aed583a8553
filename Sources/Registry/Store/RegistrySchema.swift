import GRDB

/// The tables of the registry, as migrations in the order in which they run. A released migration never changes; a new
/// one is added.
enum RegistrySchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("registry 1") { db in
            for sql in [devices, proofs, targets, events, identities, follows, watch, ingressDevices, router] {
                try db.execute(sql: sql)
            }
        }
        return migrator
    }

    /// An `account` is the root identity that a device belongs to, or the author of its registration.
    /// `first_registered_at` is when a device entered its slot, because clients register again each time they are
    /// opened. `wishes` are the device's preferences for pace and filters, sealed because quiet hours reveal when its
    /// user sleeps. `router_key` is the number of the router's key that the device is registered to.
    ///
    /// Secrets are in another table than `devices`, which is read as a whole at every start.
    private static let devices = """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

        CREATE TABLE routes (
            id INTEGER PRIMARY KEY,
            platform TEXT NOT NULL,
            app TEXT NOT NULL,
            UNIQUE (platform, app)
        );

        CREATE TABLE devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            author BLOB NOT NULL,
            root BLOB,
            account BLOB GENERATED ALWAYS AS (coalesce(root, author)) VIRTUAL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            first_registered_at INTEGER NOT NULL,
            registered_at INTEGER NOT NULL,
            route INTEGER NOT NULL REFERENCES routes (id),
            mode INTEGER,
            signals INTEGER NOT NULL,
            further_signals TEXT,
            locale TEXT,
            has_sealing_key INTEGER NOT NULL DEFAULT 0,
            wishes BLOB,
            is_reached INTEGER NOT NULL DEFAULT 0,
            router_key INTEGER NOT NULL DEFAULT 1,
            UNIQUE (author, device_id)
        );
        CREATE INDEX devices_account ON devices (account);
        CREATE INDEX devices_further_signals ON devices (id) WHERE further_signals IS NOT NULL;

        CREATE TABLE secrets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            handle BLOB NOT NULL,
            address BLOB NOT NULL,
            content BLOB NOT NULL
        );
        CREATE INDEX secrets_handle ON secrets (handle);

        CREATE TABLE wished_relays (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            relays TEXT NOT NULL
        );
        CREATE TABLE partners (
            device INTEGER NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
            partner BLOB NOT NULL,
            PRIMARY KEY (device, partner)
        ) WITHOUT ROWID;
        CREATE INDEX partners_partner ON partners (partner);

        CREATE TABLE tombstones (
            author BLOB NOT NULL,
            device_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            PRIMARY KEY (author, device_id)
        ) WITHOUT ROWID;
        CREATE TABLE floors (author BLOB PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;
        """

    /// Results of pushes to devices. `unproven_devices` are those whose token no push service has accepted yet:
    /// registered ones by their number, those of the sealed ingress by the negative of theirs. The index finds the
    /// device to remove first when the registry is full. `disabled_devices` get no pushes because pushes to them failed
    /// for a long time. Times are in milliseconds since 1970.
    private static let proofs = """
        CREATE INDEX devices_unreached ON devices (registered_at) WHERE is_reached = 0;

        CREATE TABLE unproven_devices (device INTEGER PRIMARY KEY) STRICT;
        CREATE TRIGGER devices_proven_no_more AFTER DELETE ON devices
            BEGIN DELETE FROM unproven_devices WHERE device = old.id; END;

        CREATE TABLE disabled_devices (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            disabled_at INTEGER NOT NULL,
            failing_since INTEGER NOT NULL
        ) STRICT;
        """

    /// Targets that people choose, by a handle that reveals nothing, and the devices that claim them. Few devices have
    /// one. `group_members` are users of an app in groups that senders made, and those who left one; an account
    /// without a device is in no group.
    private static let targets = """
        CREATE TABLE chosen_targets (
            device INTEGER PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
            target BLOB NOT NULL,
            confirmed INTEGER NOT NULL,
            asked_at INTEGER
        );
        CREATE INDEX chosen_targets_target ON chosen_targets (target);

        CREATE TABLE group_members (
            app TEXT NOT NULL,
            name TEXT NOT NULL,
            account BLOB NOT NULL,
            since INTEGER NOT NULL,
            has_left INTEGER NOT NULL,
            PRIMARY KEY (app, name, account)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX group_members_account ON group_members (account);
        CREATE TRIGGER devices_group_members AFTER DELETE ON devices
            WHEN NOT EXISTS (SELECT 1 FROM devices WHERE account = coalesce(old.root, old.author))
            BEGIN DELETE FROM group_members WHERE account = coalesce(old.root, old.author); END;
        """

    /// Stored events, and registrations that wait for the list of their root identity.
    private static let events = """
        CREATE TABLE own_events (
            author BLOB NOT NULL,
            slot TEXT NOT NULL,
            json TEXT NOT NULL,
            PRIMARY KEY (author, slot)
        );

        CREATE TABLE waiting (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            author BLOB NOT NULL,
            device_id TEXT NOT NULL,
            root BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            arrived_at INTEGER NOT NULL,
            json TEXT NOT NULL,
            UNIQUE (author, device_id)
        );
        CREATE INDEX waiting_root ON waiting (root);
        """

    /// Lists of identities: relays for messages, devices, keys for messages. `listed_devices.until` is the end of a
    /// device that its root's newest list does not mention, in milliseconds since 1970; null if that list names it.
    /// `recipient_lists` are the newest of an account's own lists, of the kinds that filters use. It has row ids,
    /// because a list may fill many pages.
    private static let identities = """
        CREATE TABLE lists (
            author BLOB NOT NULL,
            kind INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            learned_at INTEGER NOT NULL,
            relays TEXT NOT NULL,
            PRIMARY KEY (author, kind)
        ) WITHOUT ROWID;
        CREATE TABLE listed_devices (
            root BLOB NOT NULL,
            device BLOB NOT NULL,
            until INTEGER,
            PRIMARY KEY (root, device)
        ) WITHOUT ROWID;
        CREATE TABLE message_keys (
            account BLOB NOT NULL,
            key BLOB NOT NULL,
            until INTEGER,
            PRIMARY KEY (account, key)
        ) WITHOUT ROWID;
        CREATE INDEX message_keys_key ON message_keys (key);

        CREATE TABLE recipient_lists (
            account BLOB NOT NULL,
            kind INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            event BLOB NOT NULL,
            PRIMARY KEY (account, kind)
        );
        """

    /// Authors who follow accounts, and the keys that an account follows. `followed` has row ids, because a list may
    /// fill many pages.
    private static let follows = """
        CREATE TABLE contact_lists (
            author BLOB PRIMARY KEY,
            created_at INTEGER NOT NULL,
            seen_at INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE follows (
            author BLOB NOT NULL,
            account BLOB NOT NULL,
            PRIMARY KEY (author, account)
        ) WITHOUT ROWID;
        CREATE TABLE follows_read (account BLOB PRIMARY KEY) WITHOUT ROWID;

        CREATE TABLE followed (
            account BLOB PRIMARY KEY NOT NULL,
            created_at INTEGER NOT NULL,
            event_id BLOB NOT NULL,
            hashes BLOB NOT NULL
        );
        """

    /// Keys that are read at relays. An empty `key` is the owner's own key, the usual case. The rows of an owner are
    /// adjacent, so that all owners' rows can be compared in one pass. The index finds other owners of a watched key.
    ///
    /// `watch_read` are keys for which one of several routers read a relay, and with which interest: the next reader
    /// continues from there. It uses the relay's URL, as each member numbers relays itself.
    private static let watch = """
        CREATE TABLE watch_relays (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, mark INTEGER);

        CREATE TABLE watch (
            owner BLOB NOT NULL,
            key BLOB NOT NULL,
            relay INTEGER NOT NULL,
            interest INTEGER NOT NULL,
            since INTEGER NOT NULL,
            established INTEGER NOT NULL,
            PRIMARY KEY (owner, key, relay)
        ) WITHOUT ROWID;
        CREATE INDEX watch_others ON watch (key, relay, interest) WHERE key <> x'';

        CREATE TABLE watch_read (
            url TEXT NOT NULL,
            key BLOB NOT NULL,
            interest INTEGER NOT NULL,
            PRIMARY KEY (url, key)
        ) STRICT, WITHOUT ROWID;
        """

    /// Devices of the sealed ingress. The address is present while the device counts as alive. The index on `gone_at`
    /// finds devices to forget when invented tokens fill the table. Triggers count rows, because counting a million
    /// takes longer than adding one.
    private static let ingressDevices = """
        CREATE TABLE ingress_devices (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            handle BLOB NOT NULL UNIQUE,
            address BLOB,
            used_at INTEGER NOT NULL,
            gone_at INTEGER
        );
        CREATE INDEX ingress_devices_used_at ON ingress_devices (used_at);
        CREATE INDEX ingress_devices_gone_at ON ingress_devices (gone_at) WHERE gone_at IS NOT NULL;

        CREATE TABLE ingress_device_count (count INTEGER NOT NULL);
        INSERT INTO ingress_device_count VALUES (0);
        CREATE TRIGGER ingress_devices_more AFTER INSERT ON ingress_devices
            BEGIN UPDATE ingress_device_count SET count = count + 1; END;
        CREATE TRIGGER ingress_devices_fewer AFTER DELETE ON ingress_devices
            BEGIN UPDATE ingress_device_count SET count = count - 1; END;
        CREATE TRIGGER ingress_devices_proven_no_more AFTER DELETE ON ingress_devices
            BEGIN DELETE FROM unproven_devices WHERE device = -old.id; END;
        """

    /// State of the router. Times are in milliseconds since 1970.
    ///
    /// - `remote_sessions`, `used_secrets`: NIP-46 sessions, and the client that opened one with a secret. The table
    ///   has a keyed digest of each secret. It stays when the session ends, because no other client may use the secret.
    /// - `plugin_states`: values that plugins store, each key and value sealed together and found by an opaque handle.
    ///   An owner has a row while it has values or had some recently.
    /// - `access_rules`: decisions of operators about keys, networks, invitations and relays. An invitation is stored
    ///   as a keyed digest. No `until`: the rule does not expire.
    /// - `router_keys`: the router's keys, once it has had more than one: `current`, `former`, `retired`, and `next`
    ///   while a change is in progress. A key's ring has the other secrets, and only that key opens it. 1 is the first.
    private static let router = """
        CREATE TABLE remote_sessions (
            client BLOB PRIMARY KEY,
            opened_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE used_secrets (
            digest BLOB PRIMARY KEY,
            client BLOB NOT NULL,
            used_at INTEGER NOT NULL
        ) WITHOUT ROWID;

        CREATE TABLE plugin_owners (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, used_at INTEGER NOT NULL) STRICT;
        CREATE TABLE plugin_states (
            owner INTEGER NOT NULL REFERENCES plugin_owners (id) ON DELETE CASCADE,
            handle BLOB NOT NULL,
            sealed BLOB NOT NULL,
            PRIMARY KEY (owner, handle)
        );

        CREATE TABLE access_rules (
            kind TEXT NOT NULL,
            subject TEXT NOT NULL,
            is_block INTEGER NOT NULL,
            reason TEXT NOT NULL,
            made_at INTEGER NOT NULL,
            until INTEGER,
            PRIMARY KEY (kind, subject)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE router_keys (
            number INTEGER PRIMARY KEY,
            key BLOB NOT NULL UNIQUE,
            state TEXT NOT NULL,
            since INTEGER NOT NULL,
            retires_at INTEGER,
            ring BLOB
        ) STRICT;
        """
}
