// The shape of the store's file, as the steps that lead to it. Each step is final once released: a later shape is a
// new step at the end, so that every old file can follow.
#pragma once

#include <span>
#include <string>

#include "store/database.h"

namespace muster {

// "MSTR" in the file's header says that the file is ours.
constexpr int application_id = 0x4D535452;

// Step n, counted from 1, leads from version n − 1 to n. Version 0 is an empty file.
using Migrations = std::span<const std::string>;

// The steps up to today's version.
Migrations muster_migrations();

// Brings the file to the last step's version, each step in a transaction of its own. Fails with SqliteError and leaves
// the file at the last version that was reached. The file must not be newer.
void migrate(Database& database, Migrations steps);

}  // namespace muster
