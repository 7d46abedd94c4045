/* What the C file tests, called by the C++ file. Each returns 0, or the line that failed. */
#ifndef MUSTER_C_INTERFACE_TEST_H
#define MUSTER_C_INTERFACE_TEST_H

#ifdef __cplusplus
extern "C" {
#endif

int c_names_errors(void);
int c_refuses_bad_options(void);
int c_drives_a_client_itself(void);
int c_plays_a_match(const char* servers_address, const char* matchmakers_address);
int c_refuses_bad_player_options(void);
int c_drives_a_player_itself(void);
int c_knows_the_worlds_time(void);
int c_logs_a_player_in(const char* players_address);
int c_refuses_null(void);
int c_refuses_short_options(void);
int c_survives_huge_times(void);
int c_refuses_to_run_twice(void);
int c_frees_in_any_order(const char* servers_address);

#ifdef __cplusplus
}
#endif

#endif
